"""The policy that knows nothing."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation


class RandomPolicy:
    """Uniform actions."""

    def __init__(self, seed: int = 0) -> None:
        """Start a stream of its own."""
        self._rng = np.random.default_rng(seed)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Ignore everything and draw."""
        copies = len(observation["achieved_goal"])
        return self._rng.uniform(-1, 1, (copies, 3)).astype(np.float32)
