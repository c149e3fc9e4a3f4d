"""What may differ from episode to episode, as composable values.

    gymnasium.make("jostle/ThreeCubes-v0", variation=(Shape("star"), Mass(Uniform(0.1, 10))))

Each value of an object is drawn anew for every object and episode; fixed values stay as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jostle.core.catalog import suggest
from jostle.core.errors import UnknownNameError, require
from jostle.scene.colors import read_color
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import Look, ObjectSpec, SceneSpec, TableSpec


@dataclass(frozen=True)
class Uniform:
    """Any number between two."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse empty ranges."""
        require(self.low <= self.high, f"Uniform({self.low}, {self.high}) is empty.")


@dataclass(frozen=True)
class OneOf:
    """One of several values, all equally likely."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        """Take the values as arguments: `OneOf("cube", "star")`."""
        require(len(values) > 0, "OneOf needs at least one value.")
        object.__setattr__(self, "values", values)


Number = float | Uniform | OneOf


def draw(value: Any, rng: np.random.Generator) -> Any:
    """Draw from a `Uniform` or `OneOf`; anything else stands for itself."""
    if isinstance(value, Uniform):
        return float(rng.uniform(value.low, value.high))
    if isinstance(value, OneOf):
        return value.values[rng.integers(len(value.values))]
    return value


@runtime_checkable
class Variation(Protocol):
    """A change of scene and look."""

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Return the changed scene and look."""
        ...


@dataclass(frozen=True)
class Shape:
    """Other shapes: "cube", "star" or "tee"."""

    name: str | OneOf

    def __post_init__(self) -> None:
        """Refuse unknown shapes at once, not at the first reset."""
        for name in self.names:
            _ = SHAPES[name]

    @property
    def names(self) -> tuple[str, ...]:
        """All shapes that can be drawn."""
        return self.name.values if isinstance(self.name, OneOf) else (self.name,)

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Reshape every object."""
        return _each(scene, lambda one: replace(one, shape=draw(self.name, rng))), look


@dataclass(frozen=True)
class Size:
    """Stretched footprints: cuboids, when the shape is a cube."""

    x: Number = 1.0
    y: Number = 1.0

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Stretch every object."""
        return _each(
            scene, lambda one: replace(one, scale=(draw(self.x, rng), draw(self.y, rng)))
        ), look


@dataclass(frozen=True)
class Mass:
    """Heavier or lighter objects, as a factor."""

    factor: Number

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Weigh every object anew."""
        return _each(scene, lambda one: replace(one, mass=draw(self.factor, rng))), look


@dataclass(frozen=True)
class Friction:
    """Rougher or smoother objects: the sliding coefficient (1 by default)."""

    value: Number

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Polish every object; the table follows the smoothest one."""
        return _each(scene, lambda one: replace(one, friction=draw(self.value, rng))), look


@dataclass(frozen=True)
class Table:
    """Another table; the robot moves with its edge."""

    x: Number = 0.5
    y: Number = 0.6

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Exchange the table."""
        return replace(scene, table=TableSpec(x=draw(self.x, rng), y=draw(self.y, rng))), look


@dataclass(frozen=True)
class Color:
    """One color, or one drawn from several, for every object."""

    value: Any

    def __post_init__(self) -> None:
        """Refuse unknown colors at once."""
        for value in self.value.values if isinstance(self.value, OneOf) else (self.value,):
            read_color(value)

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Repaint every object."""
        colors = tuple(read_color(draw(self.value, rng)) for _ in look.colors)
        return scene, replace(look, colors=colors)


@dataclass(frozen=True)
class Camera:
    """A camera moved by some meters, its target kept, or zoomed."""

    name: str
    x: Number = 0.0
    y: Number = 0.0
    z: Number = 0.0
    fov: Number | None = None

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Move the camera of that name."""
        names = [camera.name for camera in look.cameras]
        if self.name not in names:
            raise UnknownNameError(
                f"There is no camera called '{self.name}' to move. {suggest(self.name, names)}"
            )
        moved = []
        for camera in look.cameras:
            if camera.name == self.name:
                x, y, z = camera.position
                place = (x + draw(self.x, rng), y + draw(self.y, rng), z + draw(self.z, rng))
                fov = camera.fov if self.fov is None else draw(self.fov, rng)
                camera = replace(camera, position=place, fov=fov)
            moved.append(camera)
        return scene, replace(look, cameras=tuple(moved))


@dataclass(frozen=True)
class Light:
    """Dimmer, brighter or turned lights."""

    brightness: Number = 1.0
    angle: Number = 0.0

    def apply(
        self, scene: SceneSpec, look: Look, rng: np.random.Generator
    ) -> tuple[SceneSpec, Look]:
        """Relight."""
        lit = replace(
            look, brightness=draw(self.brightness, rng), light_angle=draw(self.angle, rng)
        )
        return scene, lit


def read_variation(variation: Any) -> tuple[Variation, ...]:
    """Accept None, one variation or several."""
    several = isinstance(variation, Sequence)
    found = () if variation is None else tuple(variation) if several else (variation,)
    for one in found:
        require(
            isinstance(one, Variation),
            f"A variation is one of Shape, Size, Mass, Friction, Table, Color, Camera, Light "
            f"(or has their 'apply'), not {one!r}.",
        )
    return found


def _each(scene: SceneSpec, change: Callable[[ObjectSpec], ObjectSpec]) -> SceneSpec:
    return replace(scene, objects=tuple(change(one) for one in scene.objects))
