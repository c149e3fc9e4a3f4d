"""Entities of all views in one row, without those that nobody sees.

What is not visible has no influence, so leaving it out changes nothing but the cost. Sets differ
in size, and a batch is as wide as its fullest: so a large batch is cut into groups of like size.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from jostle.core.entities import Entities

_GROUP = 64
"""Smaller groups cost more in calls than they save in width."""


class Crowd(NamedTuple):
    """Sets of up to T entities, whatever view they are seen in."""

    values: Tensor
    """Features, (B, T, D)."""
    seen: Tensor
    """Which entities are there, (B, T) bool."""
    view: Tensor | None
    """In which view each is, (B, T); nothing with a single view."""
    row: Tensor | None
    """Which of the V*K entities each is, (B, T); nothing if they all are here, in order."""

    @staticmethod
    def of(entities: Entities) -> "Crowd":
        """Put the views (B, V, K, D) side by side."""
        batch, views, count = entities.visible.shape
        view = None
        if views > 1:
            view = torch.arange(views, device=entities.values.device).repeat_interleave(count)
            view = view.expand(batch, -1)
        return Crowd(entities.values.flatten(1, 2), entities.visible.flatten(1, 2), view, None)

    def packed(self) -> "Crowd":
        """The same, as wide as the fullest set."""
        if self.seen.all():
            return self
        most = max(int(self.seen.sum(1).max()), 1)
        if most == self.seen.shape[1]:
            return self
        row = self.seen.int().argsort(dim=1, descending=True, stable=True)[:, :most]
        return Crowd(
            self.values.gather(1, row[..., None].expand(-1, -1, self.values.shape[2])),
            self.seen.gather(1, row),
            None if self.view is None else self.view.gather(1, row),
            row if self.row is None else self.row.gather(1, row),
        )

    def part(self, sets: Tensor) -> "Crowd":
        """Some of the sets, as wide as their fullest."""
        view, row = (None if x is None else x[sets] for x in (self.view, self.row))
        return Crowd(self.values[sets], self.seen[sets], view, row).packed()

    def spread(self, weights: Tensor, count: int) -> Tensor:
        """Weights (B, T) of these entities among all V*K = `count`, 0 for those left out."""
        if self.row is None:
            return weights
        return weights.new_zeros(len(weights), count).scatter(1, self.row, weights)


def groups(crowd: Crowd) -> list[Tensor]:
    """Cut a batch into groups of sets of like size; one group if that would not save anything."""
    sizes = crowd.seen.sum(1)
    batch = len(sizes)
    if batch < 2 * _GROUP or int(sizes.min()) == int(sizes.max()):
        return [torch.arange(batch, device=sizes.device)]
    return list(sizes.argsort(stable=True).chunk(batch // _GROUP))
