"""Noise that stays on when nobody learns.

An actor without noise is a function of what it sees. Where it chooses to stand still, or to move to
and fro, it sees the same again, and does so forever: most failures of imitators are such freezes.
"""

import numpy as np
from numpy.typing import NDArray

_SEED = 20_240
"""Of the one sequence of noise that all restless agents share."""


class Unrest:
    """Adds the same noise in every copy and every episode, step by step.

    So acting stays a function of the observation and of the time since `restart`, whatever else is
    played beside it.
    """

    def __init__(self, deviation: float) -> None:
        """Disturb actions by noise of this deviation; 0 leaves them alone."""
        self._deviation, self._step = deviation, 0

    def restart(self) -> None:
        """Begin a new episode."""
        self._step = 0

    def __call__(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Disturb the actions (B, A) of one step."""
        self._step += 1
        if self._deviation == 0:
            return actions
        noise = np.random.default_rng((_SEED, self._step)).standard_normal(actions.shape[1])
        return np.clip(actions + self._deviation * noise, -1, 1).astype(np.float32)
