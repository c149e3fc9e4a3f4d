"""Attention by the size of the sets: the same result as `Attention.mix`, at the least cost."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from jostle.nets.kernels import factored, small_attention
from jostle.nets.relative_positions import Relative, RelPosProjection, pair_features_first

if TYPE_CHECKING:
    from jostle.nets.attention import Attention

_SMALL = 12
"""Up to this many keys, sums over pairs are faster than one matrix product per sample."""


def attend(
    layer: "Attention", query: Tensor, context: Tensor, visible: Tensor, relative: Relative
) -> tuple[Tensor, Tensor | None]:
    """Do what `Attention.forward` does; small sets get no weights."""
    if layer.rel_pos is None:
        relative = ()

    # Small sets
    if _suits_small_attention(context, visible):
        maps = (layer.query.weight, layer.key.weight, layer.value.weight, layer.out.weight)
        positions = None
        if relative:
            assert layer.rel_pos is not None
            features = pair_features_first(relative)  # (F, Q, S, B)
            positions = small_attention.Relative(features, layer.rel_pos.key, layer.rel_pos.value)
        return small_attention.attend(query, context, maps, layer.heads, visible, positions), None

    # All others
    q, k, v = layer.project(query, context)
    if context.shape[2] > _SMALL:
        result, weights = _mix_matrices(q, k, v, visible, relative, layer.rel_pos)
    elif relative:
        result, weights = layer.mix(q, k, v, None if visible.all() else visible, relative)
    else:
        result, weights = _mix_pairs(q, k, v, visible)
    return layer.out(result.flatten(-2)), weights


def _suits_small_attention(context: Tensor, visible: Tensor) -> bool:
    """Whether sets are small, each has a visible entity, and numbers are float32."""
    if context.shape[2] > _SMALL or torch.is_autocast_enabled(context.device.type):
        return False
    return bool(visible.any(1).all())


def _mix_pairs(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
    """Sum over pairs: result (C, B, Q, h, d) and weights (C, B, h, Q, S)."""
    scores = (q.unsqueeze(3) * k.unsqueeze(2)).sum(-1)  # (C, B, Q, S, h)
    weights = _masked_softmax(scores, visible[None, :, None, :, None], -2)
    result = (weights.unsqueeze(-1) * v.unsqueeze(2)).sum(3)
    return result, weights.permute(0, 1, 4, 2, 3)


def _mix_matrices(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor,
    relative: Relative,
    rel_pos: RelPosProjection | None,
) -> tuple[Tensor, Tensor]:
    """Multiply matrices: result (C, B, Q, h, d) and weights (C, B, h, Q, S)."""
    q, k, v = (x.permute(0, 3, 1, 2, 4).contiguous() for x in (q, k, v))  # (C, h, B, T, d)
    scores = q @ k.transpose(-1, -2)  # (C, h, B, Q, S)
    if relative:
        assert rel_pos is not None
        scores = scores + factored.scores(rel_pos, q, relative)
    weights = _masked_softmax(scores, visible[:, None], -1)
    result = weights @ v  # (C, h, B, Q, d)
    if relative:
        assert rel_pos is not None
        result = result + factored.values(rel_pos, weights, relative)
    return result.permute(0, 2, 3, 1, 4), weights.transpose(1, 2)


def _masked_softmax(scores: Tensor, visible: Tensor, dim: int) -> Tensor:
    """Softmax over `dim` of what is visible, a mask that fits scores; skips what is not needed."""
    if visible.all():
        return scores.softmax(dim)
    weights = scores.masked_fill(~visible, torch.finfo(scores.dtype).min).softmax(dim)
    if visible.any(dim).all():
        return weights
    return weights * visible  # zeros for sets without a visible entity
