"""Draw moments after which something still happens.

Before an agent can push, nothing moves in most of its episodes. Their goals of hindsight are
reached from the start, whatever is done, and teach next to nothing.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.replay.hindsight import Index
from jostle.replay.ring import EpisodeRing

_FAR = 0.1
"""What moves farther than this, in meters or in sines and cosines, counts no more than this."""


class Liveliness:
    """Draws moments of a ring in proportion to how far its objects still move."""

    def __init__(self, ring: EpisodeRing) -> None:
        """Look at what `ring` holds whenever that has changed."""
        self._ring, self._seen = ring, (-1, -1)
        self._ladder = np.zeros(0)

    def draw(self, size: int, last: int, rng: np.random.Generator) -> tuple[Index, Index]:
        """Episodes and steps before `last` of `size` moments, (B,) each."""
        if self._seen != (self._ring.version, last):
            self._seen, self._ladder = (self._ring.version, last), self._climb(last)
        top = self._ladder[-1]
        if top == 0:  # nothing ever moves: all moments are alike
            flat = rng.integers(0, len(self._ladder), size)
        else:
            flat = np.searchsorted(self._ladder, rng.random(size) * top, side="right")
        return flat // last, flat % last

    def _climb(self, last: int) -> NDArray[np.float64]:
        """Sums of what is still to come, moment after moment, (E * last,)."""
        achieved = self._ring.view().achieved[:, : last + 1]  # (E, last + 1, N, w)
        ahead = np.linalg.norm(achieved[:, -1:] - achieved[:, :-1], axis=-1)  # (E, last, N)
        return np.cumsum(np.minimum(ahead, _FAR).sum(-1).reshape(-1), dtype=np.float64)
