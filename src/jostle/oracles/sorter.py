"""The scripted pusher for Sorting: four cubes around one corner, each with a place of its own."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation
from jostle.oracles.pusher import CubePusher, PusherConfig
from jostle.scene.spec import TableSpec

_SPREAD = 0.036
_CORNERS = np.array(((-1, -1), (-1, 1), (1, -1), (1, 1))) * _SPREAD


class Sorter:
    """Turns "all reds there" into a two-by-two block per color, then pushes."""

    def __init__(self, table: TableSpec) -> None:
        """Work on `table`."""
        self._pusher = CubePusher(table, PusherConfig(done=0.03, good=0.06, at_hand=3))

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, 3)."""
        goals = observation["desired_goal"]  # (B, N, 2), equal rows for one color
        count = goals.shape[1]
        same = (goals[:, :, None] == goals[:, None]).all(-1)  # (B, N, N)
        earlier = np.tril(np.ones((count, count), bool), -1)
        rank = (same & earlier).sum(-1)  # (B, N) cubes of my color before me
        places = goals + _CORNERS[rank % 4].astype(np.float32)
        return self._pusher.act({**observation, "desired_goal": places})
