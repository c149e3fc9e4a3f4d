"""The scripted expert for Sorting: four cubes around each corner, each with a goal of its own."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation
from jostle.oracles.pusher import CubePusher, PusherConfig
from jostle.scene.spec import TableSpec

_SPREAD = 0.036
_CORNERS = np.array(((-1, -1), (-1, 1), (1, -1), (1, 1))) * _SPREAD


class Sorter:
    """Turns the one goal of a color into a two-by-two block of goals, then pushes."""

    def __init__(self, table: TableSpec) -> None:
        """Work on `table`."""
        config = PusherConfig(done_distance=0.03, near_distance=0.06, max_candidates=3)
        self._pusher = CubePusher(table, config)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, 3)."""
        goals = observation["desired_goal"]  # (B, N, 2), equal rows for one color
        count = goals.shape[1]
        same = (goals[:, :, None] == goals[:, None]).all(-1)  # (B, N, N)
        earlier = np.tril(np.ones((count, count), bool), -1)
        rank = (same & earlier).sum(-1)  # (B, N): earlier cubes of the same color
        block = goals + _CORNERS[rank % 4].astype(np.float32)
        return self._pusher.act({**observation, "desired_goal": block})
