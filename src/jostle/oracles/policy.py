"""The random baseline."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation


class RandomPolicy:
    """Uniform actions."""

    def __init__(self, seed: int = 0) -> None:
        """Seed a generator of its own."""
        self._rng = np.random.default_rng(seed)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Sample actions, (B, 3), whatever the observation."""
        num_envs = len(observation["achieved_goal"])
        return self._rng.uniform(-1, 1, (num_envs, 3)).astype(np.float32)
