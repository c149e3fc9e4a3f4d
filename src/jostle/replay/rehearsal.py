"""Rehearse mistakes: moments in which the student was far from its teacher come up more often.

Most of an episode is easy. What an imitator fails at are rare crowded moments, of which a uniform
draw shows it a few per batch.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.replay.hindsight import Index
from jostle.replay.ring import EpisodeRing


class Rehearsal:
    """Draws moments of a ring, a share of them in proportion to the last known mistake there."""

    def __init__(self, ring: EpisodeRing, share: float, rng: np.random.Generator) -> None:
        """Draw `share` of the moments by their mistakes, the others all alike."""
        self._ring, self._share, self._rng = ring, share, rng
        self._ladder = np.zeros(0)

    def begin(self) -> None:
        """Look at all mistakes anew; what is noted later counts from the next time on."""
        if self._share > 0:
            mistakes = self._ring.view().mistakes
            assert mistakes is not None
            self._ladder = np.cumsum(mistakes.reshape(-1), dtype=np.float64)  # (E * T,)

    def draw(self, size: int) -> tuple[Index, Index]:
        """Episodes and steps of `size` moments, (B,) each."""
        held = self._ring.view()
        steps = held.actions.shape[1]
        flat = self._rng.integers(0, len(held) * steps, size)
        top = self._ladder[-1] if len(self._ladder) else 0.0
        if top > 0:  # a student without mistakes rehearses everything alike
            chosen = int(self._share * size)
            rungs = self._rng.random(chosen) * top
            flat[:chosen] = np.searchsorted(self._ladder, rungs, side="right")
        return flat // steps, flat % steps

    def note(self, episode: Index, step: Index, mistakes: NDArray[np.float32]) -> None:
        """Remember how far off the student is in these moments now."""
        if self._share > 0:
            held = self._ring.view().mistakes
            assert held is not None
            held[episode, step] = mistakes
