"""The contracts between rooms."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Observation = Mapping[str, NDArray[Any]]
"""What B copies of an environment show, by key; first axis B."""


class Policy(Protocol):
    """Anything that turns the observations of B copies into B actions."""

    def act(self, observation: Any) -> NDArray[np.float32]:
        """Choose actions, (B, 3) in [-1, 1]."""
        ...
