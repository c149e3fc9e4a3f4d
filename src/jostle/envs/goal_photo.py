"""The goal as a picture: the arm retracted, everything exactly where the goal says.

It is drawn from a pose of its own, so taking it never touches the running simulation.
"""

import numpy as np

from jostle.pixels.render import Shot
from jostle.scene.arm import RETRACTED_POSE
from jostle.scene.build import build
from jostle.scene.physics import table_poses
from jostle.tasks.episode import EpisodeSpec


def goal_shot(episode: EpisodeSpec) -> Shot:
    """Pose the episode's goal for the painter."""
    poses = table_poses(episode.scene, episode.photo)
    qpos = np.concatenate((RETRACTED_POSE, poses.ravel()))
    return Shot(build(episode.scene), qpos, episode.look)
