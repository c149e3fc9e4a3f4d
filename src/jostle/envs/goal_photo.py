"""The goal as a picture: the arm retracted, everything exactly where the goal says.

It is drawn from a pose of its own, so taking it never touches the running simulation.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jostle.pixels.render import Shot
from jostle.scene.arm import RETRACTED_POSE
from jostle.scene.build import build
from jostle.scene.physics import table_poses
from jostle.tasks.episode import EpisodeSpec


def goal_shot(episode: EpisodeSpec) -> Shot:
    """Pose the episode's goal for the painter."""
    poses = table_poses(episode.scene, episode.photo)
    return Shot(build(episode.scene), _retracted(poses), episode.look)


def as_goal(shot: Shot, poses: NDArray[np.float64]) -> Shot:
    """The same moment, objects at `poses` (N, 7), as a goal's picture would show it."""
    return replace(shot, qpos=_retracted(poses))


def _retracted(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Joint positions with the arm out of the way."""
    return np.concatenate((RETRACTED_POSE, poses.ravel()))
