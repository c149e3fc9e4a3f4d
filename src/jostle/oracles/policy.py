"""What a policy is, and the one that knows nothing."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Observation = Mapping[str, NDArray[Any]]


class Policy(Protocol):
    """Anything that turns the observations of B copies into B actions."""

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, 3) in [-1, 1]."""
        ...


class RandomPolicy:
    """Uniform actions."""

    def __init__(self, seed: int = 0) -> None:
        """Start a stream of its own."""
        self._rng = np.random.default_rng(seed)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Ignore everything and draw."""
        copies = len(observation["achieved_goal"])
        return self._rng.uniform(-1, 1, (copies, 3)).astype(np.float32)
