"""Noise that stays on when nobody learns.

An actor without noise is a function of what it sees. Where it chooses to stand still, or to move to
and fro, it sees the same again, and does so forever: most failures of imitators are such freezes.
"""

import numpy as np
from numpy.typing import NDArray

_SEED = 20_240
"""Of all noise: the n-th episode of any examination always meets the same."""


class Unrest:
    """Adds noise that depends on the number of the episode and on the step, and on nothing else.

    Episodes are numbered as they are played: copy after copy, and on with the next `restart`. So an
    agent plays them alike, however many are played at once.
    """

    def __init__(self, deviation: float) -> None:
        """Disturb actions by noise of this deviation; 0 leaves them alone."""
        self._deviation, self._first = deviation, 0
        self._streams: list[np.random.Generator] = []

    def restart(self) -> None:
        """Begin new episodes in all copies."""
        self._first += len(self._streams)
        self._streams = []

    def __call__(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Disturb the actions (B, A) of one step."""
        if self._deviation == 0:
            return actions
        while len(self._streams) < len(actions):
            number = self._first + len(self._streams)
            self._streams.append(np.random.default_rng((_SEED, number)))
        noise = [self._streams[copy].standard_normal(row.shape) for copy, row in enumerate(actions)]
        return np.clip(actions + self._deviation * np.stack(noise), -1, 1).astype(np.float32)
