"""Prioritized sampling: steps at which the student was far from its teacher come up more often.

Most steps of an episode are easy. An imitator fails at rare crowded states, of which uniform
sampling shows it only a few per batch.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.replay.buffer import EpisodeBuffer
from jostle.replay.hindsight import Index


class PrioritizedSampler:
    """Samples steps, a fraction of them in proportion to the last known imitation error."""

    def __init__(self, buffer: EpisodeBuffer, fraction: float, rng: np.random.Generator) -> None:
        """Sample `fraction` of the steps by priority, the others uniformly."""
        self._buffer, self._fraction, self._rng = buffer, fraction, rng
        self._cumulative = np.zeros(0)

    def refresh(self) -> None:
        """Read all priorities again; later updates count from the next refresh on."""
        if self._fraction > 0:
            errors = self._buffer.view().imitation_error
            assert errors is not None
            self._cumulative = np.cumsum(errors.reshape(-1), dtype=np.float64)  # (E * T,)

    def sample(self, size: int) -> tuple[Index, Index]:
        """Episodes and steps, (B,) each."""
        episodes = self._buffer.view()
        rows = self._rng.integers(0, len(episodes) * episodes.steps, size)
        total = self._cumulative[-1] if len(self._cumulative) else 0.0
        if total > 0:  # without any error all steps are sampled uniformly
            prioritized = int(self._fraction * size)
            draws = self._rng.random(prioritized) * total
            rows[:prioritized] = np.searchsorted(self._cumulative, draws, side="right")
        return rows // episodes.steps, rows % episodes.steps

    def update_priorities(self, episode: Index, step: Index, errors: NDArray[np.float32]) -> None:
        """Store the present imitation errors of some steps."""
        if self._fraction > 0:
            stored = self._buffer.view().imitation_error
            assert stored is not None
            stored[episode, step] = errors
