"""Attention among few entities with the samples innermost, forward and back written out.

For a handful of entities, products of matrices one sample at a time are slow. Here every sum runs
over all samples of a batch at once, and the arrays come into that order, and out of it, within
the products by the weights: (features, entities, samples) = weight @ rows.T costs no copy.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def attend(
    to: Tensor, of: Tensor, maps: tuple[Tensor, Tensor, Tensor, Tensor], heads: int, visible: Tensor
) -> Tensor:
    """Let `to` (C, B, Q, E) attend to `of` (C, B, S, E), which may be `to` itself.

    Args:
        to: Who attends.
        of: Whom to.
        maps: Weights of queries, keys, values and the result, (C, E, E) each.
        heads: Number of heads.
        visible: Which of `of` are seen, (B, S); at least one of each set.
    """
    query, key, value, out = maps
    query = query * (to.shape[-1] // heads) ** -0.5
    rows = [_entities_first(to)]
    if of is to:
        rows.append(torch.cat((query, key, value), dim=1))  # (C, 3E, E)
    else:
        rows += [query, _entities_first(of), torch.cat((key, value), dim=1)]  # (C, 2E, E)
    seen = None if visible.all() else visible.t()  # (S, B)
    mixed: Tensor = _Few.apply(heads, seen, out, *rows)  # type: ignore[no-untyped-call]
    return mixed.view(rows[0].shape).transpose(1, 2)  # (C, B, Q, E)


def _entities_first(x: Tensor) -> Tensor:
    """Bring (C, B, T, E) into the order (C, T, B, E)."""
    return x.transpose(1, 2).contiguous()


class _Few(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        heads: int,
        visible: Tensor | None,
        out: Tensor,
        x: Tensor,
        weight: Tensor,
        *other: Tensor,
    ) -> Tensor:
        """Attend with x (C, Q, B, E), mapped by its weight, to itself or to another set.

        Returns:
            Rows (C, Q*B, E).
        """
        copies, _, samples, width = x.shape
        parts = list(
            torch.bmm(weight, x.flatten(1, 2).transpose(1, 2)).chunk(1 if other else 3, dim=1)
        )
        if other:
            context, its_weight = other
            told = torch.bmm(its_weight, context.flatten(1, 2).transpose(1, 2))  # (C, 2E, S*B)
            parts += told.chunk(2, dim=1)
        q, k, v = (one.view(copies, heads, -1, one.shape[2] // samples, samples) for one in parts)
        scores = _over_features(q, k)  # (C, h, Q, S, B)
        if visible is not None:
            scores.masked_fill_(~visible, torch.finfo(scores.dtype).min)
        shares = scores.softmax(3)
        mixed = _over_entities(shares, v).view(copies, width, -1)  # (C, E, Q*B)
        ctx.save_for_backward(out, q, k, v, shares, mixed, x, weight, *other)
        return torch.bmm(mixed.transpose(1, 2), out.transpose(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        """Slopes of sets and weights, as far as they are wanted."""
        out, q, k, v, shares, mixed, *sets = ctx.saved_tensors
        _, _, wants_out, *wanted = ctx.needs_input_grad
        to_out = torch.bmm(slope.transpose(1, 2), mixed.transpose(1, 2)) if wants_out else None
        to_mixed = torch.bmm(out.transpose(1, 2), slope.transpose(1, 2)).view(q.shape)

        alone = len(sets) == 2  # a set and its weight
        first = q.new_empty(len(q), 3 if alone else 1, *q.shape[1:])
        rest = first[:, 1:] if alone else k.new_empty(len(k), 2, *k.shape[1:])
        to_shares = _over_features(to_mixed, v)  # (C, h, Q, S, B)
        to_scores = torch._softmax_backward_data(to_shares, shares, 3, shares.dtype)
        _over_entities(to_scores, k, first[:, 0])
        _over_entities(to_scores.transpose(2, 3), q, rest[:, 0])
        _over_entities(shares.transpose(2, 3), to_mixed, rest[:, 1])

        slopes: list[Tensor | None] = []
        for i, mapped in enumerate((first,) if alone else (first, rest)):
            x, weight = sets[2 * i : 2 * i + 2]
            rows = mapped.view(len(x), weight.shape[1], -1)  # (C, E to 3E, T*B)
            to_x = torch.bmm(rows.transpose(1, 2), weight).view(x.shape) if wanted[2 * i] else None
            slopes += [to_x, torch.bmm(rows, x.flatten(1, 2)) if wanted[2 * i + 1] else None]
        return None, None, to_out, *slopes


def _over_features(one: Tensor, two: Tensor) -> Tensor:
    """Sum (C, h, d, Q, B) times (C, h, d, S, B) over d: (C, h, Q, S, B)."""
    first, *rest = zip(one.unsqueeze(4).unbind(2), two.unsqueeze(3).unbind(2), strict=True)
    total = first[0] * first[1]
    for pair in rest:
        total.addcmul_(*pair)
    return total


def _over_entities(shares: Tensor, of: Tensor, into: Tensor | None = None) -> Tensor:
    """Sum (C, h, Q, S, B) times (C, h, d, S, B) over S: (C, h, d, Q, B)."""
    first, *rest = zip(shares.unsqueeze(2).unbind(4), of.unsqueeze(3).unbind(4), strict=True)
    total = torch.mul(*first, out=into)
    for pair in rest:
        total.addcmul_(*pair)
    return total
