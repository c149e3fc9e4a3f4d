"""Stored instances that break a statement of the paper, each with what repairs it."""

import json
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from jostle.theory.models import AttentionQ, Values, delta, epsilon, largest_error, separation


@dataclass(frozen=True)
class Instance:
    """Two Q-functions that agree on all sets of up to M objects, and differ with M + 1."""

    trained: int
    """M."""
    learned: AttentionQ
    optimal: AttentionQ

    @property
    def epsilon(self) -> float:
        """Largest difference on up to M objects."""
        return epsilon(self.learned, self.optimal, self.trained)

    @property
    def delta(self) -> float:
        """Largest difference of attention weights on up to M objects."""
        return delta(self.learned, self.optimal, self.trained)

    @property
    def separation(self) -> float:
        """Smallest difference between the values of two states, λ."""
        return separation(self.optimal.v)

    @property
    def error(self) -> float:
        """Difference with M + 1 objects."""
        return largest_error(self.learned, self.optimal, self.trained + 1)


def weak_self_attention(own: float = 1e-6) -> Instance:
    """The instance that breaks Theorem 1 for M = 2, and the extension even with ε of objects.

    Objects hardly attend to themselves. With two objects each attends to the other, whatever its
    attention is; how it divides attention between two others shows with three objects only.
    """
    v = np.array([0.0, 1.0, 0.5])
    optimal = np.where(np.eye(3) > 0, own, 1.0)
    learned = np.where(np.eye(3) > 0, own, np.array([1.0, 9.0, 1.0]))
    return Instance(2, AttentionQ(learned, v), AttentionQ(optimal, v))


def hidden_attention(weak: float = 0.01) -> Instance:
    """The instance for M = 2 that can be checked by hand.

    Attention between two objects is symmetric, so with two objects its effect on their mean
    cancels, whatever it is. With three, an object to which both others attend counts more.
    """
    v = np.array([1.0, 0.0, 0.5])
    alpha = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, weak], [1.0, weak, 1.0]])
    return Instance(2, AttentionQ(alpha, v), AttentionQ(np.ones((3, 3)), v))


def extension_instances() -> list[Instance]:
    """Instances for M = 2 (by hand), 3 and 4 (found by `jostle.theory.search.same_up_to`)."""
    stored = json.loads(files("jostle.theory").joinpath("instances.json").read_text())
    found = [
        Instance(
            row["trained"],
            AttentionQ(_array(row["learned"]), _array(row["v"])),
            AttentionQ(_array(row["optimal"]), _array(row["v"])),
        )
        for row in stored["extension"]
    ]
    return [hidden_attention(), *found]


def _array(numbers: list[float] | list[list[float]]) -> Values:
    return np.array(numbers, dtype=np.float64)
