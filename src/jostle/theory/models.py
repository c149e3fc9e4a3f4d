"""Q-functions of sets of objects, small enough to be exact.

A single object has one of n states, and a Q-function is a table over them, for one fixed action.
Sets of m different states are rows of an index array (S, m). Because a finite state space has
finitely many sets, every "for all states" of a theorem is checked by enumeration, not by sampling.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require

Values = NDArray[np.float64]
Sets = NDArray[np.int64]
"""Sets of states, (S, m): row by row different numbers from 0 to n - 1."""


class QFunction(Protocol):
    """A value of every set."""

    @property
    def v(self) -> Values:
        """Values of single objects, (n,)."""
        ...

    def values(self, sets: Sets) -> Values:
        """Values of sets, (S,)."""
        ...


@dataclass(frozen=True)
class AttentionQ:
    """The form of Assumption 1: a mean over objects of attention-weighted averages.

    Q = 1/N sum_i Q_i, and Q_i = sum_j alpha(s_i, s_j) v(s_j) / sum_j alpha(s_i, s_j).
    """

    alpha: Values
    """Attention before normalization, (n, n): positive."""
    v: Values
    """Values that are averaged, (n,); also the values of single objects."""

    def __post_init__(self) -> None:
        """Refuse tables of wrong shapes, and attention that is not positive."""
        require(
            self.alpha.shape == (len(self.v), len(self.v)),
            f"alpha has a row and a column per state: {len(self.v)} of them, not the shape "
            f"{self.alpha.shape}.",
        )
        require(bool((self.alpha > 0).all()), "Assumption 1 needs positive attention.")

    def weights(self, sets: Sets) -> Values:
        """Normalized attention within each set, (S, m, m): rows sum to 1."""
        attention = self.alpha[sets[:, :, None], sets[:, None, :]]  # (S, m, m)
        return attention / attention.sum(-1, keepdims=True)

    def object_values(self, sets: Sets) -> Values:
        """The averages Q_i of each object, (S, m)."""
        return (self.weights(sets) * self.v[sets][:, None]).sum(-1)

    def values(self, sets: Sets) -> Values:
        """Values of sets, (S,)."""
        return self.object_values(sets).mean(-1)


@dataclass(frozen=True)
class DeepSetsQ:
    """The form of the DeepSets theorem: a plain mean of values of single objects."""

    v: Values
    """Values of single objects, (n,)."""

    def values(self, sets: Sets) -> Values:
        """Values of sets, (S,)."""
        return self.v[sets].mean(-1)


@dataclass(frozen=True)
class TruncatedQ:
    """The paper's counter-example: attention whose sum keeps the smallest values alone.

    Equal to `AttentionQ` for sets of at most `kept` objects. Objects of equal value are ordered by
    their position in the set, as the paper leaves it open: then the result depends on the order.
    """

    attention: AttentionQ
    kept: int = 2

    @property
    def v(self) -> Values:
        """Values of single objects, (n,)."""
        return self.attention.v

    def values(self, sets: Sets) -> Values:
        """Values of sets, (S,)."""
        rank = np.argsort(np.argsort(self.v[sets], axis=-1, kind="stable"), axis=-1)  # (S, m)
        summed = np.where(rank < self.kept, self.v[sets], 0.0)
        return (self.attention.weights(sets) * summed[:, None]).sum(-1).mean(-1)


def all_sets(states: int, size: int) -> Sets:
    """All sets of `size` different states, (S, size)."""
    require(1 <= size <= states, f"{states} states have no sets of {size} different ones.")
    return np.array(list(combinations(range(states), size)), dtype=np.int64)


def largest_error(first: QFunction, second: QFunction, size: int) -> float:
    """Largest difference of two Q-functions over all sets of `size` objects."""
    sets = all_sets(len(first.v), size)
    return float(np.abs(first.values(sets) - second.values(sets)).max())


def epsilon(first: QFunction, second: QFunction, most: int) -> float:
    """The theorem's ε: the largest difference over all sets of up to `most` objects."""
    return max(largest_error(first, second, size) for size in range(1, most + 1))


def object_epsilon(first: AttentionQ, second: AttentionQ, most: int) -> float:
    """Largest difference of the value of any object in any set of up to `most` objects."""
    largest = 0.0
    for size in range(1, most + 1):
        sets = all_sets(len(first.v), size)
        difference = first.object_values(sets) - second.object_values(sets)  # (S, m)
        largest = max(largest, float(np.abs(difference).max()))
    return largest


def delta(first: AttentionQ, second: AttentionQ, most: int) -> float:
    """The theorem's δ: the largest difference of a weight in any set of up to `most` objects.

    An object's weights are those within sets that it belongs to.
    """
    largest = 0.0
    for size in range(1, most + 1):
        sets = all_sets(len(first.v), size)
        difference = first.weights(sets) - second.weights(sets)  # (S, m, m)
        largest = max(largest, float(np.abs(difference).max()))
    return largest


def delta_everywhere(first: AttentionQ, second: AttentionQ, most: int) -> float:
    """The same, also with the weights that an object would give to sets it does not belong to.

    The paper's proof needs this one; its theorem asks for the other.
    """
    largest = 0.0
    for size in range(1, most + 1):
        sets = all_sets(len(first.v), size)
        attention = first.alpha[:, sets], second.alpha[:, sets]  # (n, S, m) each
        weights = [x / x.sum(-1, keepdims=True) for x in attention]
        largest = max(largest, float(np.abs(weights[0] - weights[1]).max()))
    return largest


def total_variation(first: AttentionQ, second: AttentionQ, size: int) -> float:
    """Largest total variation between the rows of weights of any set of `size` objects."""
    sets = all_sets(len(first.v), size)
    difference = np.abs(first.weights(sets) - second.weights(sets))  # (S, m, m)
    return float(difference.sum(-1).max() / 2)


def separation(v: Values) -> float:
    """The extension's λ: the smallest difference between the values of two states."""
    return float(np.diff(np.sort(v)).min())
