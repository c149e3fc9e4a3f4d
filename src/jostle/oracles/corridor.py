"""The scripted expert for Ordered-Push: the rear cube first, straight down the corridor."""

import numpy as np
from numpy.typing import NDArray

from jostle.oracles.pusher import CubePusher, Floats, PusherConfig
from jostle.scene.furniture import WALLS
from jostle.scene.spec import TableSpec

_ENTRANCE_X = 0.07
"""Beyond this x, cubes that go into the corridor are aligned with it."""


class CorridorPusher(CubePusher):
    """Avoids the walls, pushes the rear cube first and keeps to the axis of the corridor.

    The fingers are only a millimeter narrower than the corridor.
    """

    def __init__(self, table: TableSpec, config: PusherConfig | None = None) -> None:
        """Work on `table`, with the corridor's walls on it."""
        super().__init__(table, config)
        self._walls = np.array([(center, (x / 2, y / 2)) for center, (x, y) in WALLS])

    def _may_move(self, cubes: Floats, goals: Floats) -> NDArray[np.bool_]:
        """Let the front cube wait until the rear one is in place."""
        rear = goals[..., 0] == goals[..., 0].max(-1, keepdims=True)  # (B, N)
        depth = np.where(rear, cubes[..., 0], -np.inf).max(-1, keepdims=True)
        rear_in_place = depth > goals[..., 0].max(-1, keepdims=True) - 0.02
        return rear | rear_in_place

    def _align(self, cube: Floats, axis: Floats) -> Floats:
        """Align the gripper with the corridor instead of the cube before it enters."""
        entering = (axis[:, 0] > 0) & (cube[:, 0] > _ENTRANCE_X) & (np.abs(cube[:, 1]) < 0.012)
        aligned = cube.copy()
        aligned[entering, 1] = 0.0
        return aligned
