"""Attention over small sets with the samples as the last axis, forward and backward by hand.

With a handful of entities, one matrix product per sample is slow. Here every sum runs over all
samples of a batch at once. The arrays get this order, and lose it, in the products with the
weights: (features, entities, samples) = weight @ rows.T needs no copy.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from jostle.nets.kernels import small_relative


class Relative(NamedTuple):
    """Relative positions of a small set, and how they add to keys and values."""

    features: Tensor
    """Features of every pair, (F, Q, S, B)."""
    to_key: Tensor
    """Map to what they add to keys, (C, h, d, F)."""
    to_value: Tensor
    """Map to what they add to values, (C, h, d, F)."""


def attend(
    query: Tensor,
    context: Tensor,
    maps: tuple[Tensor, Tensor, Tensor, Tensor],
    heads: int,
    visible: Tensor,
    relative: Relative | None = None,
) -> Tensor:
    """Let `query` (C, B, Q, E) attend to `context` (C, B, S, E), which may be `query` itself.

    Args:
        query: Entities that attend.
        context: Entities that are attended to.
        maps: Weights of queries, keys, values and the output, (C, E, E) each.
        heads: Number of heads.
        visible: Which entities of the context are visible, (B, S); at least one of each set.
        relative: Relative positions, if attention gets them.
    """
    to_q, to_k, to_v, to_out = maps
    to_q = to_q * (query.shape[-1] // heads) ** -0.5
    inputs = [_entities_first(query)]
    if context is query:
        inputs.append(torch.cat((to_q, to_k, to_v), dim=1))  # (C, 3E, E)
    else:
        inputs += [to_q, _entities_first(context), torch.cat((to_k, to_v), dim=1)]  # (C, 2E, E)
    mask = None if visible.all() else visible.t()  # (S, B)
    out: Tensor = _SmallAttention.apply(  # type: ignore[no-untyped-call]
        heads, mask, to_out, *(relative or (None, None, None)), *inputs
    )
    return out.view(inputs[0].shape).transpose(1, 2)  # (C, B, Q, E)


def _entities_first(x: Tensor) -> Tensor:
    """Bring (C, B, T, E) into the order (C, T, B, E)."""
    return x.transpose(1, 2).contiguous()


class _SmallAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        heads: int,
        visible: Tensor | None,
        to_out: Tensor,
        features: Tensor | None,
        to_key: Tensor | None,
        to_value: Tensor | None,
        *sets: Tensor,
    ) -> Tensor:
        """Attend from a set (C, Q, B, E) to itself, or to a context with a weight of its own.

        Returns:
            Rows (C, Q*B, E).
        """
        # Queries, keys and values
        x, weight, *context_and_weight = sets
        ensemble, _, samples, embed_dim = x.shape
        own = torch.bmm(weight, x.flatten(1, 2).transpose(1, 2))  # (C, E or 3E, Q*B)
        parts = list(own.chunk(1 if context_and_weight else 3, dim=1))
        if context_and_weight:
            context, its_weight = context_and_weight
            parts += torch.bmm(its_weight, context.flatten(1, 2).transpose(1, 2)).chunk(2, dim=1)
        q, k, v = (
            part.view(ensemble, heads, -1, part.shape[2] // samples, samples) for part in parts
        )  # (C, h, d, T, B)

        # Attention
        scores = over_features(q, k)  # (C, h, Q, S, B)
        relative: list[Tensor] = []
        if features is not None and to_key is not None:
            projected = small_relative.project(to_key.transpose(2, 3), q)  # (C, h, F, Q, B)
            small_relative.add_scores(scores, projected, features)
        if visible is not None:
            scores.masked_fill_(~visible, torch.finfo(scores.dtype).min)
        weights = scores.softmax(3)
        result = over_entities(weights, v)  # (C, h, d, Q, B)
        if features is not None and to_key is not None and to_value is not None:
            mean = small_relative.mean_features(weights, features)  # (C, h, F, Q, B)
            result += small_relative.project(to_value, mean)
            relative = [features, to_key, to_value, projected, mean]
        mixed = result.view(ensemble, embed_dim, -1)  # (C, E, Q*B)
        ctx.save_for_backward(to_out, q, k, v, weights, mixed, *relative, *sets)
        ctx.has_relative = bool(relative)
        return torch.bmm(mixed.transpose(1, 2), to_out.transpose(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of sets, relative positions and weights, as far as they are needed."""
        # Output
        to_out, q, k, v, weights, mixed, *sets = ctx.saved_tensors
        _, _, out_needed, *relative_needed = ctx.needs_input_grad[:6]
        needed = ctx.needs_input_grad[6:]
        out_grad = torch.bmm(grad.transpose(1, 2), mixed.transpose(1, 2)) if out_needed else None
        mixed_grad = torch.bmm(to_out.transpose(1, 2), grad.transpose(1, 2)).view(q.shape)

        # Scores
        weights_grad = over_features(mixed_grad, v)  # (C, h, Q, S, B)
        relative: small_relative.Backward | None = None
        if ctx.has_relative:
            relative, sets = small_relative.Backward(*sets[:5]), sets[5:]
            relative.values(weights_grad, mixed_grad)
        scores_grad = torch._softmax_backward_data(weights_grad, weights, 3, weights.dtype)

        # Queries, keys and values: views of one array for each set that they were mapped from
        alone = len(sets) == 2  # a set and its weight
        first = q.new_empty(len(q), 3 if alone else 1, *q.shape[1:])
        rest = first[:, 1:] if alone else k.new_empty(len(k), 2, *k.shape[1:])
        over_entities(scores_grad, k, first[:, 0])
        over_entities(scores_grad.transpose(2, 3), q, rest[:, 0])
        over_entities(weights.transpose(2, 3), mixed_grad, rest[:, 1])
        relative_grads: tuple[Tensor | None, ...] = (None, None, None)
        if relative is not None:
            first[:, 0] += relative.queries(scores_grad)
            relative_grads = relative.inputs(weights, scores_grad, q, mixed_grad, relative_needed)

        # Sets and their weights
        grads: list[Tensor | None] = []
        for i, mapped in enumerate((first,) if alone else (first, rest)):
            x, weight = sets[2 * i : 2 * i + 2]
            rows = mapped.view(len(x), weight.shape[1], -1)  # (C, E to 3E, T*B)
            x_grad = (
                torch.bmm(rows.transpose(1, 2), weight).view(x.shape) if needed[2 * i] else None
            )
            grads += [x_grad, torch.bmm(rows, x.flatten(1, 2)) if needed[2 * i + 1] else None]
        return None, None, out_grad, *relative_grads, *grads


def over_features(a: Tensor, b: Tensor) -> Tensor:
    """Sum (C, h, d, Q, B) times (C, h, d, S, B) over d: (C, h, Q, S, B)."""
    first, *rest = zip(a.unsqueeze(4).unbind(2), b.unsqueeze(3).unbind(2), strict=True)
    total = first[0] * first[1]
    for pair in rest:
        total.addcmul_(*pair)
    return total


def over_entities(weights: Tensor, x: Tensor, out: Tensor | None = None) -> Tensor:
    """Sum (C, h, Q, S, B) times (C, h, d, S, B) over S: (C, h, d, Q, B)."""
    first, *rest = zip(weights.unsqueeze(2).unbind(4), x.unsqueeze(3).unbind(4), strict=True)
    total = torch.mul(*first, out=out)
    for pair in rest:
        total.addcmul_(*pair)
    return total
