"""Order of scenes in training, and the split into training and validation. Indices only."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require

Indices = NDArray[np.int64]


def validation_mask(episodes: Indices, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Choose the episodes held out for validation, evenly spaced.

    The choice depends on the number of the episode alone: it does not change when more episodes are
    collected.

    Args:
        episodes: Number of the episode within its collection, for each scene.
        fraction: Fraction to hold out, in [0, 1].
        seed: Seed of the choice.
    """
    require(0 <= fraction <= 1, f"The fraction for validation lies in [0, 1], not {fraction}.")
    start = np.random.default_rng(seed).random()
    before = np.floor(episodes * fraction + start)
    return np.floor((episodes + 1) * fraction + start) > before


class ShuffledBatches:
    """Endless shuffled batches of indices; `position` is the number of batches so far.

    Another instance with the same arguments and that position continues with the same batches.
    """

    def __init__(self, indices: Indices, size: int, seed: int, position: int = 0) -> None:
        """Shuffle `indices` again in every epoch; indices that do not fill a batch are skipped."""
        require(size >= 1, f"A batch has at least one scene, not {size}.")
        require(
            len(indices) >= size,
            f"There are {len(indices)} scenes, which is less than one batch of {size}. "
            "Collect more, or use smaller batches.",
        )
        require(position >= 0, f"The position is 0 or more, not {position}.")
        self._indices, self._size, self._seed = np.asarray(indices), size, seed
        self.position = position
        self._shuffled: tuple[int, Indices] | None = None

    @property
    def per_epoch(self) -> int:
        """Batches of an epoch."""
        return len(self._indices) // self._size

    def __iter__(self) -> "ShuffledBatches":
        return self

    def __next__(self) -> Indices:
        """Return the next batch, (B,)."""
        epoch, number = divmod(self.position, self.per_epoch)
        if self._shuffled is None or self._shuffled[0] != epoch:
            rng = np.random.default_rng([self._seed, epoch])
            self._shuffled = epoch, rng.permutation(self._indices)
        self.position += 1
        return self._shuffled[1][number * self._size : (number + 1) * self._size]
