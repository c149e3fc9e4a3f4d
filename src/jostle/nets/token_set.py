"""Entities of all views as one set of tokens for attention."""

from typing import NamedTuple

import torch
from torch import Tensor

from jostle.core.entities import Entities


class TokenSet(NamedTuple):
    """Sets of T entities of all views, before they are embedded."""

    values: Tensor
    """Features, (B, T, D)."""
    visible: Tensor
    """Which entities exist, (B, T) bool; attention ignores the others."""
    view: Tensor | None
    """View of each entity, (B, T); None with a single view."""
    source: Tensor | None = None
    """Index of each entity in the set before packing, (B, T); None for a set that is not packed."""

    @staticmethod
    def of(entities: Entities) -> "TokenSet":
        """Concatenate the views of (B, V, K, D): T = V * K."""
        batch, views, count = entities.visible.shape
        view = None
        if views > 1:
            view = torch.arange(views, device=entities.values.device).repeat_interleave(count)
            view = view.expand(batch, -1)
        return TokenSet(entities.values.flatten(1, 2), entities.visible.flatten(1, 2), view)
