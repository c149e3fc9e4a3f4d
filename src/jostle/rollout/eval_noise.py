"""Evaluation noise: a little noise on actions in evaluation and use.

A deterministic actor is a function of what it observes. Where its action changes nothing, it
observes the same again and is stuck: most failures of imitators are of this kind.
"""

import numpy as np
from numpy.typing import NDArray

_SEED = 20_240
"""Seed of all noise: episode n of any evaluation always gets the same."""


class EvalNoise:
    """Noise that depends on the number of the episode and on the step, and on nothing else.

    Episodes are numbered as they are played: environment after environment, and on from there
    with the next `reset`. So an agent acts alike, however many episodes run at once.
    """

    def __init__(self, std: float) -> None:
        """Add noise of this standard deviation; 0 leaves actions alone."""
        self._std, self._first = std, 0
        self._streams: list[np.random.Generator] = []

    def reset(self) -> None:
        """Start new episodes in all environments."""
        self._first += len(self._streams)
        self._streams = []

    def __call__(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Add noise to the actions (B, A) of one step."""
        if self._std == 0:
            return actions
        while len(self._streams) < len(actions):
            number = self._first + len(self._streams)
            self._streams.append(np.random.default_rng((_SEED, number)))
        noise = [self._streams[env].standard_normal(row.shape) for env, row in enumerate(actions)]
        return np.clip(actions + self._std * np.stack(noise), -1, 1).astype(np.float32)
