"""In which order scenes are seen, and which are kept for validation. Numbers only, no pictures."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require

Indices = NDArray[np.int64]


def held_out(episodes: Indices, share: float, seed: int) -> NDArray[np.bool_]:
    """Choose the episodes kept for validation, evenly spread.

    The answer for an episode depends on its number alone: it keeps its side when more is collected.

    Args:
        episodes: Number of the episode within its collection, for each scene.
        share: How much to keep, in [0, 1].
        seed: Which ones.
    """
    require(0 <= share <= 1, f"The share for validation lies in [0, 1], not {share}.")
    start = np.random.default_rng(seed).random()
    before = np.floor(episodes * share + start)
    return np.floor((episodes + 1) * share + start) > before


class Order:
    """Shuffled batches of indices without end; `position` says how many were given.

    An `Order` with the same arguments and that position goes on exactly where this one is.
    """

    def __init__(self, indices: Indices, size: int, seed: int, position: int = 0) -> None:
        """Shuffle `indices` anew in every pass; what does not fill a batch waits for the next."""
        require(size >= 1, f"A batch has at least one scene, not {size}.")
        require(
            len(indices) >= size,
            f"There are {len(indices)} scenes, which is less than one batch of {size}. "
            "Collect more, or take smaller batches.",
        )
        require(position >= 0, f"The position is 0 or more, not {position}.")
        self._indices, self._size, self._seed = np.asarray(indices), size, seed
        self.position = position
        self._shuffled: tuple[int, Indices] | None = None

    @property
    def per_pass(self) -> int:
        """Batches until every scene was seen once."""
        return len(self._indices) // self._size

    def __iter__(self) -> "Order":
        return self

    def __next__(self) -> Indices:
        """Give the next batch, (B,)."""
        passes, number = divmod(self.position, self.per_pass)
        if self._shuffled is None or self._shuffled[0] != passes:
            rng = np.random.default_rng([self._seed, passes])
            self._shuffled = passes, rng.permutation(self._indices)
        self.position += 1
        return self._shuffled[1][number * self._size : (number + 1) * self._size]
