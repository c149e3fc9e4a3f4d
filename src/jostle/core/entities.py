"""The currency of the brain: a set of entities per view, and which of them can be seen."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Entities(NamedTuple):
    """Sets of entities; state, particles, slots and vectors all travel like this."""

    values: Tensor
    """Features, (B, V, K, D)."""
    visible: Tensor
    """Which entities are there, (B, V, K) bool."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Views, entities per view, features."""
        views, count, width = self.values.shape[-3:]
        return views, count, width

    @staticmethod
    def of(values: NDArray[np.float32], visible: NDArray[np.bool_]) -> "Entities":
        """Hand sets over from numpy."""
        return Entities(torch.from_numpy(values), torch.from_numpy(visible))

    @staticmethod
    def all_visible(values: Tensor) -> "Entities":
        """Wrap sets in which everything is seen."""
        return Entities(
            values, torch.ones(values.shape[:-1], dtype=torch.bool, device=values.device)
        )


def joined(one: Entities, two: Entities) -> Entities:
    """Put two batches of sets behind each other."""
    values = torch.cat((one.values, two.values))
    return Entities(values, torch.cat((one.visible, two.visible)))
