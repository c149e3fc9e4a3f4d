"""Variations by exact amounts: a mass in kilograms, the place of a camera, distinct colors."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from jostle.core.catalog import suggest
from jostle.core.errors import ImpossibleSceneError, UnknownNameError
from jostle.scene.colors import parse_color
from jostle.scene.robot import THICKNESS
from jostle.scene.shapes import default_mass
from jostle.scene.spec import TABLE_TOP, Appearance, CameraSpec, ObjectSpec, SceneSpec, TableSpec
from jostle.tasks.variations import Uniform, sample_value

AXES = ("x", "y", "z", "fov")
"""What can be changed of a camera: its position in meters, and its field of view in degrees."""
_MAX_MASS_FACTOR = 1000


@dataclass(frozen=True)
class Kilograms:
    """Mass of every object in kilograms, whatever its shape and size."""

    mass: float | Uniform

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Set the mass of every object."""
        objects = (self._with_mass(obj, sample_value(self.mass, rng)) for obj in scene.objects)
        return replace(scene, objects=tuple(objects)), appearance

    def _with_mass(self, obj: ObjectSpec, mass: float) -> ObjectSpec:
        factor = mass / default_mass(obj)
        if factor > _MAX_MASS_FACTOR:
            raise ImpossibleSceneError(
                f"A {obj.shape} of this size weighs at most "
                f"{_MAX_MASS_FACTOR * default_mass(obj):.3g} kg, not {mass:g} kg."
            )
        return replace(obj, mass=factor)


@dataclass(frozen=True)
class CameraChange:
    """A number of a camera: moved by an amount, or set to it."""

    axis: str
    """One of `AXES`."""
    value: float | Uniform
    """Meters, or degrees for `fov`."""
    relative: bool
    """Whether the value is added to what the camera has."""


@dataclass(frozen=True)
class MoveCamera:
    """Another position of a camera, with the same target, or another field of view."""

    name: str
    changes: tuple[CameraChange, ...]

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Move the camera of that name; it may not end in the table, or below it or the ground."""
        names = [camera.name for camera in appearance.cameras]
        if self.name not in names:
            raise UnknownNameError(
                f"There is no camera called '{self.name}' to move. {suggest(self.name, names)}"
            )
        cameras = tuple(
            self._moved(camera, scene.table, rng) if camera.name == self.name else camera
            for camera in appearance.cameras
        )
        return scene, replace(appearance, cameras=cameras)

    def _moved(self, camera: CameraSpec, table: TableSpec, rng: np.random.Generator) -> CameraSpec:
        numbers = dict(zip(AXES, (*camera.position, camera.fov), strict=True))
        for change in self.changes:
            value = sample_value(change.value, rng)
            numbers[change.axis] = value + change.relative * numbers[change.axis]
        x, y, z, fov = numbers.values()
        over_table = abs(x) <= table.x / 2 and abs(y) <= table.y / 2
        if z <= (TABLE_TOP if over_table else 0):
            place = "the ground" if z <= 0 or not over_table else "the table"
            inside = over_table and z >= TABLE_TOP - THICKNESS
            raise ImpossibleSceneError(
                f"The camera '{self.name}' would be {'inside' if inside else 'below'} {place}, at "
                f"({x:g}, {y:g}, {z:g}). The table's top is {TABLE_TOP} m above the ground."
            )
        return replace(camera, position=(x, y, z), fov=fov)


@dataclass(frozen=True)
class DistinctColors:
    """Distinct colors for objects that differ in color, sampled in each episode.

    Starts and goals stay as they are without it: the colors have a random stream of their own.
    """

    names: tuple[str, ...]

    def apply(
        self, scene: SceneSpec, appearance: Appearance, rng: np.random.Generator
    ) -> tuple[SceneSpec, Appearance]:
        """Replace every color that objects have by another one."""
        old = list(dict.fromkeys(appearance.colors))
        if len(self.names) < len(old):
            given = f"{len(self.names)} color{'s' if len(self.names) > 1 else ''}"
            raise ImpossibleSceneError(
                f"{len(old)} objects of different colors need {len(old)} colors, but only {given} "
                f"can be chosen from: {', '.join(self.names)}."
            )
        order = _separate_stream(rng).permutation(len(self.names))
        new = {color: parse_color(self.names[order[i]]) for i, color in enumerate(old)}
        return scene, replace(appearance, colors=tuple(new[color] for color in appearance.colors))


def _separate_stream(rng: np.random.Generator) -> np.random.Generator:
    """A generator that is determined by the state of `rng`, which stays as it is."""
    state = hashlib.sha256(repr(rng.bit_generator.state).encode()).digest()
    return np.random.default_rng(int.from_bytes(state, "big"))
