"""Outlines of objects on the table, and why an object cannot lie somewhere."""

import itertools

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import ImpossibleSceneError
from jostle.scene.colors import COLORS, RGB
from jostle.scene.furniture import WALLS
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import ObjectSpec, SceneSpec
from jostle.tasks.episode import PlanarPoses

Polygon = NDArray[np.float64]
"""Corners of a convex polygon in order, (4, 2), in meters."""
_SLACK = 1e-4
"""Meters by which objects may overlap without a refusal: physics lets them touch."""
MORE_COLORS: dict[str, RGB] = {
    "white": (0.95, 0.95, 0.95), "gray": (0.35, 0.36, 0.38), "lime": (0.6, 0.85, 0.2),
}  # fmt: skip
"""Colors besides the nine of the package: twelve cubes need twelve."""
PLAY_COLORS: dict[str, RGB] = {**COLORS, **MORE_COLORS}
"""Colors that objects can have here."""


def outline(obj: ObjectSpec) -> list[Polygon]:
    """The boxes of an object in its own frame, seen from above."""
    polygons = []
    for box in SHAPES[obj.shape].boxes:
        half = np.array(box.size[:2]) / 2 * obj.scale
        corners = np.array(((-1, -1), (1, -1), (1, 1), (-1, 1))) * half
        center = np.array(box.center) * obj.scale
        polygons.append(corners @ _rotation(box.yaw).T + center)
    return polygons


def placed(obj: ObjectSpec, pose: NDArray[np.float64]) -> list[Polygon]:
    """The boxes of an object at a planar pose (3,)."""
    return [polygon @ _rotation(pose[2]).T + pose[:2] for polygon in outline(obj)]


def color_name(color: RGB) -> str:
    """Name of the nearest color."""
    gaps = {name: np.abs(np.subtract(rgb, color)).sum() for name, rgb in PLAY_COLORS.items()}
    return min(gaps, key=lambda name: gaps[name])


def check_place(
    scene: SceneSpec, colors: tuple[RGB, ...], poses: PlanarPoses, slot: int, what: str
) -> None:
    """Refuse a pose of one object, `poses[slot]`, that is impossible beside all others.

    Args:
        scene: Objects, table and corridor.
        colors: Colors of the objects, which name them in the refusal.
        poses: Where all objects are, (N, 3); NaN for those that are not there.
        slot: The object that was moved.
        what: What poses are of: "goal" or "start".
    """
    own = placed(scene.objects[slot], poses[slot])
    mine = f"The {what} of the {color_name(colors[slot])} object"
    edge = np.array((scene.table.x, scene.table.y)) / 2 + _SLACK
    if any((np.abs(polygon) > edge).any() for polygon in own):
        raise ImpossibleSceneError(f"{mine} would not lie on the table.")
    if scene.corridor and any(_overlap(box, wall) for box in own for wall in walls()):
        raise ImpossibleSceneError(f"{mine} would lie in a wall of the corridor.")
    for other, pose in enumerate(poses):
        if other == slot or np.isnan(pose[0]):
            continue
        boxes = placed(scene.objects[other], pose)
        if any(_overlap(*pair) for pair in itertools.product(own, boxes)):
            raise ImpossibleSceneError(
                f"{mine} would overlap that of the {color_name(colors[other])} one."
            )


def walls() -> list[Polygon]:
    """The walls of the corridor."""
    signs = np.array(((-1, -1), (1, -1), (1, 1), (-1, 1)))
    return [np.array(center) + signs * np.array(size) / 2 for center, size in WALLS]


def _overlap(first: Polygon, second: Polygon) -> bool:
    """Whether two convex polygons overlap: no edge of either separates them."""
    for polygon in (first, second):
        edges = np.roll(polygon, -1, axis=0) - polygon  # (4, 2)
        normals = np.stack((edges[:, 1], -edges[:, 0]), axis=1)
        normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        a, b = first @ normals.T, second @ normals.T  # (4, 4) corners by normals
        gaps = np.maximum(a.min(0) - b.max(0), b.min(0) - a.max(0))
        if (gaps > -_SLACK).any():
            return False
    return True


def _rotation(angle: float) -> NDArray[np.float64]:
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array(((cosine, -sine), (sine, cosine)))
