"""Checks of a sampled episode: starts and goals lie on the table, and nothing overlaps."""

import itertools

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import ImpossibleSceneError
from jostle.scene.furniture import WALLS
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import SceneSpec
from jostle.tasks.episode import EpisodeSpec, PlanarPoses

_Rectangle = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Center and half sizes, along x and y."""


def check_possible(episode: EpisodeSpec) -> None:
    """Refuse an episode whose starts or goals cannot be, such as a goal beside the table."""
    scene = episode.scene
    walls = [_rectangle(*wall) for wall in WALLS] if scene.corridor else []
    edge = np.array((scene.table.x, scene.table.y)) / 2 + 1e-9
    size = f"a table of {scene.table.x:g} by {scene.table.y:g} m"
    if any((np.abs(center) + half > edge).any() for center, half in walls):
        raise ImpossibleSceneError(f"The corridor does not fit on {size}. Take a larger table.")
    for name, poses in (("starts", episode.start), ("goals", episode.goal_view)):
        if (np.abs(poses[~np.isnan(poses[:, 0]), :2]) > edge).any():
            raise ImpossibleSceneError(
                f"Some {name} of {episode.task} do not lie on {size}. Take a larger table."
            )
        objects = _footprints(scene, poses)
        if any(_overlap(first, second) for first, second in itertools.combinations(objects, 2)):
            raise ImpossibleSceneError(
                f"Some {name} of {episode.task} overlap: its objects are too large. Take smaller "
                "ones."
            )
        if any(_overlap(obj, wall) for obj in objects for wall in walls):
            raise ImpossibleSceneError(
                f"Some {name} of {episode.task} lie in the walls of the corridor: its objects are "
                "too large. Take smaller ones."
            )


def _footprints(scene: SceneSpec, poses: PlanarPoses) -> list[_Rectangle]:
    """A rectangle within each object that is aligned with the table; others are left out."""
    footprints = []
    for obj, (x, y, yaw) in zip(scene.objects, poses, strict=True):
        if yaw == 0 and SHAPES[obj.shape].balanced:  # not NaN either: the slot is in use
            box = SHAPES[obj.shape].boxes[0].size
            footprints.append(_rectangle((x, y), (box[0] * obj.scale[0], box[1] * obj.scale[1])))
    return footprints


def _rectangle(center: tuple[float, float], size: tuple[float, float]) -> _Rectangle:
    return np.array(center), np.array(size) / 2


def _overlap(first: _Rectangle, second: _Rectangle) -> bool:
    gaps = np.abs(first[0] - second[0]) - first[1] - second[1]
    return bool((gaps < -1e-9).all())
