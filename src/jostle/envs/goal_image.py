"""The goal as an image: the arm retracted, every object exactly where the goal says.

The image is rendered from a pose of its own, so it never touches the running simulation.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jostle.pixels.render import RenderRequest
from jostle.scene.arm import RETRACTED_POSE
from jostle.scene.build import compile_scene
from jostle.scene.physics import table_poses
from jostle.tasks.episode import EpisodeSpec


def goal_image_request(episode: EpisodeSpec) -> RenderRequest:
    """Request the goal image of an episode."""
    poses = table_poses(episode.scene, episode.goal_view)
    return RenderRequest(compile_scene(episode.scene), _retracted(poses), episode.appearance)


def as_goal_image(request: RenderRequest, poses: NDArray[np.float64]) -> RenderRequest:
    """Request the same scene with objects at `poses` (N, 7) in the style of a goal image."""
    return replace(request, qpos=_retracted(poses))


def _retracted(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Joint positions with the arm out of the way."""
    return np.concatenate((RETRACTED_POSE, poses.ravel()))
