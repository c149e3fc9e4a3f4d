"""Which true object each particle lies on: for rewards and losses in training, never for networks.

Shapes: B environments, V views, K particles, N objects.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import POSITION, Entities, EntityLayout
from jostle.core.errors import require
from jostle.core.particles import pixel_positions
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.table_projection import HEIGHT
from jostle.scene.cameras import project
from jostle.scene.spec import TABLE_TOP, CameraSpec

TIE_PX = 4.0
"""A particle lies on an object within this distance of its projected center, in pixels."""
UNTIED = -1
"""A particle that lies on no object, or that is not visible."""
Ties = NDArray[np.int8]


class ObjectTies:
    """Ties particles to the true objects of environments, by the calibration of their cameras."""

    def __init__(
        self, cameras: Sequence[CameraSpec | None], image_size: int, layout: EntityLayout
    ) -> None:
        """Know the camera of each view and its image size; a missing camera ties nothing."""
        require(
            POSITION in layout,
            "Values per entity of images are those of goal particles, and these entities have no "
            "position in the image. Train with an encoder 'dlp', or --values pooled.",
        )
        self._cameras, self._image_size = tuple(cameras), image_size

    def state(self, particles: Entities, env: TabletopVectorEnv, rows: NDArray[np.float32]) -> Ties:
        """Tie the particles of states whose true rows are (B, 1+N, F): (B, V, K)."""
        places = rows[:, 1:, :3] + np.array((0.0, 0.0, TABLE_TOP))
        places[~_present(env, places.shape[1])] = np.nan
        return self.tie(particles, places)

    def goal(self, particles: Entities, env: TabletopVectorEnv) -> Ties:
        """Tie the particles of the goal images of the running episodes, (B, V, K)."""
        count = env.state_reader.objects
        xy = np.stack([episode.goal_view[:count, :2] for episode in env.episodes])  # (B, N, 2)
        places = np.concatenate((xy, np.full((*xy.shape[:2], 1), HEIGHT)), axis=-1)
        places[~_present(env, count)] = np.nan
        return self.tie(particles, places)

    def tie(self, particles: Entities, places: NDArray[np.float64]) -> Ties:
        """Tie particles (B, V, K) to the nearest of some places (B, N, 3); NaN: no object."""
        size = (self._image_size, self._image_size)
        pixels = pixel_positions(particles.values, self._image_size)  # (B, V, K, 2)
        ties = np.full(particles.visible.shape, UNTIED, np.int8)
        for view, camera in enumerate(self._cameras):
            if camera is None:
                continue
            centers = project(camera, places, size)  # (B, N, 2)
            gap = np.linalg.norm(pixels[:, view, :, None] - centers[:, None], axis=-1)  # (B, K, N)
            gap = np.where(np.isnan(gap), np.inf, gap)
            near = particles.visible[:, view] & (gap.min(-1) <= TIE_PX)
            ties[:, view] = np.where(near, gap.argmin(-1), UNTIED)
        return ties


def _present(env: TabletopVectorEnv, count: int) -> NDArray[np.bool_]:
    """Which objects the running episodes have, (B, N)."""
    scenes = [episode.scene.objects[:count] for episode in env.episodes]
    return np.array([[spec.present for spec in objects] for objects in scenes])
