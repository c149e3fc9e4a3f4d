"""Token packing and length bucketing: entities that are not visible cost nothing.

They have no influence, so leaving them out changes nothing but the cost. A batch is as wide as its
largest set, so a large batch is split into buckets of sets of similar size.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from jostle.nets.token_set import TokenSet

_BUCKET = 64
"""Least sets per bucket: smaller buckets cost more in calls than they save in width."""
_CALLS = 128
"""Entities that cost as much as the calls of one more bucket."""

Network = Callable[[TokenSet, TokenSet, Tensor | None, Tensor | None], Tensor]
"""Outputs (C, B, ...) for states, goals, action tokens (C, B, 1, E), their positions (B, 1, 2)."""


def in_buckets(
    network: Network,
    state: TokenSet,
    goal: TokenSet,
    action_token: Tensor | None,
    action_position: Tensor | None,
) -> Tensor:
    """Apply `network` to packed sets, bucket by bucket; returns outputs in the batch's order."""
    parts = buckets(state)
    if len(parts) == 1:
        return network(packed(state), packed(goal), action_token, action_position)
    outputs = [
        network(
            take(state, sets),
            take(goal, sets),
            None if action_token is None else action_token[:, sets],
            None if action_position is None else action_position[sets],
        )
        for sets in parts
    ]
    return torch.cat(outputs, dim=1)[:, torch.cat(parts).argsort()]


def buckets(tokens: TokenSet) -> list[Tensor]:
    """Split a batch into indices of sets of similar size; one bucket if more would save nothing."""
    sizes = tokens.visible.sum(1)
    batch, largest = len(sizes), int(sizes.max())
    parts = list(sizes.argsort(stable=True).chunk(max(batch // _BUCKET, 1)))
    saved = sum(len(sets) * (largest - int(sizes[sets[-1]])) for sets in parts)
    if saved <= _CALLS * (len(parts) - 1):
        return [torch.arange(batch, device=sizes.device)]
    return parts


def packed(tokens: TokenSet) -> TokenSet:
    """Move visible entities to the front, in their order, and cut to the largest set."""
    if tokens.visible.all():
        return tokens
    largest = max(int(tokens.visible.sum(1).max()), 1)
    if largest == tokens.visible.shape[1]:
        return tokens
    order = tokens.visible.int().argsort(dim=1, descending=True, stable=True)[:, :largest]
    return TokenSet(
        tokens.values.gather(1, order[..., None].expand(-1, -1, tokens.values.shape[2])),
        tokens.visible.gather(1, order),
        None if tokens.view is None else tokens.view.gather(1, order),
        order if tokens.source is None else tokens.source.gather(1, order),
    )


def take(tokens: TokenSet, sets: Tensor) -> TokenSet:
    """Select sets by index, packed."""
    view, source = (None if x is None else x[sets] for x in (tokens.view, tokens.source))
    return packed(TokenSet(tokens.values[sets], tokens.visible[sets], view, source))
