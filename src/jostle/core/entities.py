"""The currency of the brain: a set of entities per view, and which of them can be seen."""

from typing import NamedTuple

import torch
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
    def all_visible(values: Tensor) -> "Entities":
        """Wrap sets in which everything is seen."""
        return Entities(
            values, torch.ones(values.shape[:-1], dtype=torch.bool, device=values.device)
        )
