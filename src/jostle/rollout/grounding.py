"""Where on the table entities would lie: what every calibrated camera tells of a picture.

Places in two pictures have nothing to do with each other, but the same cube seen by two cameras
stands in one place. Only the cameras are known here, as in any laboratory; of the scene, nothing.
"""

from collections.abc import Sequence

import numpy as np

from jostle.core.particles import pixels_of
from jostle.rollout.observer import Sets
from jostle.scene.cameras import onto_plane
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP, CameraSpec

GROUND = 2
"""Features that grounding puts behind those of an entity: x and y."""
_UNIT = 0.1
"""Meters that count as one, about the deviation of objects on the table."""
_FARTHEST = 0.6
"""Meters from the table's middle at which places end: what is high up looks far away."""


class Grounding:
    """Adds to particles where they would lie if they were the middle of a cube on the table."""

    def __init__(self, cameras: Sequence[CameraSpec | None], side: int) -> None:
        """Know the camera of each view, of pictures of `side` pixels; none: nothing is seen."""
        self._cameras, self._side = tuple(cameras), side

    def __call__(self, seen: Sets) -> Sets:
        """Put x and y behind the features: (B, V, K, D) to (B, V, K, D + 2)."""
        pixels = pixels_of(seen.values, self._side)  # (B, V, K, 2)
        places = np.zeros_like(pixels)
        for view, camera in enumerate(self._cameras):
            if camera is not None:
                places[:, view] = onto_plane(
                    camera, pixels[:, view], TABLE_TOP + CUBE_SIDE / 2, (self._side, self._side)
                )
        places = places.clip(-_FARTHEST, _FARTHEST) / _UNIT * seen.visible[..., None]
        return Sets(np.concatenate((seen.values, places.astype(np.float32)), axis=-1), seen.visible)
