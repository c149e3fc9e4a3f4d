"""The scripted pusher for Ordered-Push: the rear cube first, straight down the corridor."""

import numpy as np
from numpy.typing import NDArray

from jostle.oracles.pusher import CubePusher, Floats, PusherConfig
from jostle.scene.furniture import WALLS
from jostle.scene.spec import TableSpec

_MOUTH = 0.07
"""Where cubes that go into the corridor begin to be lined up with it."""


class CorridorPusher(CubePusher):
    """Knows the walls, who goes first, and that the fingers fit the corridor by a millimeter."""

    def __init__(self, table: TableSpec, config: PusherConfig | None = None) -> None:
        """Work on `table`, with the corridor's walls on it."""
        super().__init__(table, config)
        self._walls = np.array([(center, (x / 2, y / 2)) for center, (x, y) in WALLS])

    def _turn(self, cubes: Floats, goals: Floats) -> NDArray[np.bool_]:
        """Let the front cube wait until the rear one is in."""
        rear = goals[..., 0] == goals[..., 0].max(-1, keepdims=True)  # (B, N)
        depth = np.where(rear, cubes[..., 0], -np.inf).max(-1, keepdims=True)
        home = depth > goals[..., 0].max(-1, keepdims=True) - 0.02
        return rear | home

    def _aim(self, place: Floats, axis: Floats) -> Floats:
        """Line up with the corridor, not with the cube, before going in."""
        inside = (axis[:, 0] > 0) & (place[:, 0] > _MOUTH) & (np.abs(place[:, 1]) < 0.012)
        aim = place.copy()
        aim[inside, 1] = 0.0
        return aim
