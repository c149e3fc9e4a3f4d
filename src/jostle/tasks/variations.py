"""Domain randomization: what may differ from episode to episode, as composable values.

    gymnasium.make("jostle/ThreeCubes-v0", variation=(Shape("star"), Mass(Uniform(0.1, 10))))

Properties of objects are sampled for every object and episode; fixed values stay as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jostle.core.catalog import suggest
from jostle.core.checks import check_number
from jostle.core.errors import UnknownNameError, require
from jostle.scene.colors import parse_color
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import Appearance, ObjectSpec, SceneSpec, TableSpec


@dataclass(frozen=True)
class Uniform:
    """Uniformly distributed between two numbers."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse empty ranges."""
        check_number("low", self.low)
        check_number("high", self.high)
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


def sample_value(value: Any, rng: np.random.Generator) -> Any:
    """Sample from a `Uniform` or `OneOf`; any other value is returned as it is."""
    if isinstance(value, Uniform):
        return float(rng.uniform(value.low, value.high))
    if isinstance(value, OneOf):
        return value.values[rng.integers(len(value.values))]
    return value


def check_values(variation: Any, *names: str) -> None:
    """Refuse fields of a variation that are no numbers here, not at the first reset."""
    for name in names:
        value = getattr(variation, name)
        for number in value.values if isinstance(value, OneOf) else (value,):
            if not isinstance(number, Uniform):
                check_number(f"{type(variation).__name__}'s {name}", number)


@runtime_checkable
class Variation(Protocol):
    """A random change of scene and appearance."""

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Return the changed scene and appearance."""
        ...


@dataclass(frozen=True)
class Shape:
    """Shape of the objects: "cube", "star" or "tee"."""

    name: str | OneOf

    def __post_init__(self) -> None:
        """Refuse unknown shapes here, not at the first reset."""
        for name in self.names:
            _ = SHAPES[name]

    @property
    def names(self) -> tuple[str, ...]:
        """All shapes that can be sampled."""
        return self.name.values if isinstance(self.name, OneOf) else (self.name,)

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Set the shape of every object."""
        return _map_objects(
            scene, lambda obj: replace(obj, shape=sample_value(self.name, rng))
        ), appearance


@dataclass(frozen=True)
class Size:
    """Scale factors of the footprint: cubes become cuboids."""

    x: Number = 1.0
    y: Number = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        check_values(self, "x", "y")

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Scale every object."""
        return _map_objects(
            scene,
            lambda obj: replace(obj, scale=(sample_value(self.x, rng), sample_value(self.y, rng))),
        ), appearance


@dataclass(frozen=True)
class Mass:
    """Factor on the mass of the objects."""

    factor: Number

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        check_values(self, "factor")

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Set the mass factor of every object."""
        return _map_objects(
            scene, lambda obj: replace(obj, mass=sample_value(self.factor, rng))
        ), appearance


@dataclass(frozen=True)
class Friction:
    """Coefficient of sliding friction of the objects (1 by default)."""

    value: Number

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        check_values(self, "value")

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Set the friction of every object; the table takes the smallest one."""
        return _map_objects(
            scene, lambda obj: replace(obj, friction=sample_value(self.value, rng))
        ), appearance


@dataclass(frozen=True)
class Table:
    """Size of the table; the robot moves with its edge."""

    x: Number = 0.5
    y: Number = 0.6

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        check_values(self, "x", "y")

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Set the size of the table."""
        return replace(
            scene, table=TableSpec(x=sample_value(self.x, rng), y=sample_value(self.y, rng))
        ), appearance


@dataclass(frozen=True)
class Color:
    """One color for all objects, or one sampled per object."""

    value: Any

    def __post_init__(self) -> None:
        """Refuse unknown colors here, not at the first reset."""
        for value in self.value.values if isinstance(self.value, OneOf) else (self.value,):
            parse_color(value)

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Set the color of every object."""
        colors = tuple(parse_color(sample_value(self.value, rng)) for _ in appearance.colors)
        return scene, replace(appearance, colors=colors)


@dataclass(frozen=True)
class Camera:
    """Offset of a camera in meters, with the same target, or another field of view."""

    name: str
    x: Number = 0.0
    y: Number = 0.0
    z: Number = 0.0
    fov: Number | None = None

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        check_values(self, "x", "y", "z", *(() if self.fov is None else ("fov",)))

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Move the camera of that name."""
        names = [camera.name for camera in appearance.cameras]
        if self.name not in names:
            raise UnknownNameError(
                f"There is no camera called '{self.name}' to vary. {suggest(self.name, names)}"
            )
        moved = []
        for camera in appearance.cameras:
            if camera.name == self.name:
                x, y, z = camera.position
                position = (
                    x + sample_value(self.x, rng),
                    y + sample_value(self.y, rng),
                    z + sample_value(self.z, rng),
                )
                fov = camera.fov if self.fov is None else sample_value(self.fov, rng)
                camera = replace(camera, position=position, fov=fov)
            moved.append(camera)
        return scene, replace(appearance, cameras=tuple(moved))


@dataclass(frozen=True)
class Light:
    """Brightness and direction of the lights."""

    brightness: Number = 1.0
    angle: Number = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        check_values(self, "brightness", "angle")

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Set brightness and direction of the lights."""
        lit = replace(
            appearance,
            brightness=sample_value(self.brightness, rng),
            light_angle=sample_value(self.angle, rng),
        )
        return scene, lit


def parse_variations(variation: Any) -> tuple[Variation, ...]:
    """Accept None, a variation, or a sequence of variations."""
    if variation is None:
        return ()
    variations = tuple(variation) if isinstance(variation, Sequence) else (variation,)
    for item in variations:
        require(
            isinstance(item, Variation),
            f"A variation is one of Shape, Size, Mass, Friction, Table, Color, Camera, Light "
            f"(or has their method 'apply'), not {item!r}.",
        )
    return variations


def _map_objects(scene: SceneSpec, change: Callable[[ObjectSpec], ObjectSpec]) -> SceneSpec:
    return replace(scene, objects=tuple(change(obj) for obj in scene.objects))
