"""Ground-plane projection: where on the table the entities of an image lie.

Positions in two images are not comparable, but one cube seen by two cameras stands in one place.
Only the cameras' calibration is used, as in any laboratory; of the scene, nothing.
"""

from collections.abc import Sequence

import numpy as np

from jostle.core.entities import Entities
from jostle.core.particles import pixel_positions
from jostle.scene.cameras import unproject_to_plane
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP, CameraSpec

COLUMNS = 2
"""Columns that the projection appends: x and y."""
UNIT = 0.1
"""Meters that count as one, about the standard deviation of objects on the table."""
LIMIT = 0.6
"""Meters from the table's center at which positions are clipped: what is high up projects far."""
HEIGHT = TABLE_TOP + CUBE_SIDE / 2
"""Height of the plane that entities are projected to: the center of a cube on the table."""


class TableProjection:
    """Appends to particles where they would lie as the center of a cube on the table."""

    def __init__(self, cameras: Sequence[CameraSpec | None], image_size: int) -> None:
        """Know the camera of each view and its image size; a missing camera sees nothing."""
        self._cameras, self._image_size = tuple(cameras), image_size

    def __call__(self, entities: Entities) -> Entities:
        """Append x and y: (B, V, K, D) to (B, V, K, D + 2)."""
        size = (self._image_size, self._image_size)
        pixels = pixel_positions(entities.values, self._image_size)  # (B, V, K, 2)
        table_xy = np.zeros_like(pixels)
        for view, camera in enumerate(self._cameras):
            if camera is not None:
                table_xy[:, view] = unproject_to_plane(camera, pixels[:, view], HEIGHT, size)
        table_xy = table_xy.clip(-LIMIT, LIMIT) / UNIT * entities.visible[..., None]
        values = np.concatenate((entities.values, table_xy.astype(np.float32)), axis=-1)
        return Entities(values, entities.visible)
