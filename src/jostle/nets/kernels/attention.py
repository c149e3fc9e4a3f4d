"""Attention by the size of the sets: the same result as `Attention.mix`, at the least cost."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from jostle.nets.kernels import factored, small_attention
from jostle.nets.relative_positions import Relative, RelPosProjection, pair_features

if TYPE_CHECKING:
    from jostle.nets.attention import Attention

_SMALL = 12
"""Up to this many keys, sums over pairs are faster than one matrix product per sample."""
_SMALL_RELATIVE = 4
"""The same with relative positions, which need a key and a value for every pair."""
_PAIRS = 12
"""Up to this many keys, relative positions are computed for every pair; beyond, `factored`."""


def attend(
    layer: "Attention", query: Tensor, context: Tensor, visible: Tensor, relative: Relative
) -> tuple[Tensor, Tensor | None]:
    """Do what `Attention.forward` does; small sets get no weights."""
    if layer.rel_pos is None:
        relative = ()

    # Small sets without relative positions
    if not relative and _suits_small_attention(context, visible):
        maps = (layer.query.weight, layer.key.weight, layer.value.weight, layer.out.weight)
        return small_attention.attend(query, context, maps, layer.heads, visible), None

    # All others
    q, k, v = layer.project(query, context)
    keys = context.shape[2]
    if keys <= (_SMALL_RELATIVE if relative else _SMALL):
        result, weights = _mix_pairs(q, k, v, visible, relative, layer.rel_pos)
    elif relative and keys <= _PAIRS:
        result, weights = layer.mix(q, k, v, None if visible.all() else visible, relative)
    else:
        result, weights = _mix_matrices(q, k, v, visible, relative, layer.rel_pos)
    return layer.out(result.flatten(-2)), weights


def _suits_small_attention(context: Tensor, visible: Tensor) -> bool:
    """Whether sets are small, each has a visible entity, and numbers are float32."""
    if context.shape[2] > _SMALL or torch.is_autocast_enabled(context.device.type):
        return False
    return bool(visible.any(1).all())


def _mix_pairs(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor,
    relative: Relative,
    rel_pos: RelPosProjection | None,
) -> tuple[Tensor, Tensor]:
    """Sum over pairs: result (C, B, Q, h, d) and weights (C, B, h, Q, S)."""
    k, v = k.unsqueeze(2), v.unsqueeze(2)  # (C, B, 1, S, h, d)
    if relative:
        assert rel_pos is not None
        extra_k, extra_v = _project_pairs(rel_pos, pair_features(relative))
        k, v = k + extra_k, v + extra_v  # (C, B, Q, S, h, d)
    scores = (q.unsqueeze(3) * k).sum(-1)  # (C, B, Q, S, h)
    weights = _masked_softmax(scores, visible[None, :, None, :, None], -2)
    return (weights.unsqueeze(-1) * v).sum(3), weights.permute(0, 1, 4, 2, 3)


def _project_pairs(rel_pos: RelPosProjection, features: Tensor) -> tuple[Tensor, Tensor]:
    """What features (B, Q, S, F) add to keys and to values, (C, B, Q, S, h, d) each."""
    ensemble, heads, head_dim, _ = rel_pos.key.shape
    maps = torch.stack((rel_pos.key, rel_pos.value), dim=1)  # (C, 2, h, d, F)
    projected = F.linear(features, maps.flatten(0, 3))  # (B, Q, S, C*2*h*d)
    projected = projected.view(*projected.shape[:3], ensemble, 2, heads, head_dim).movedim(3, 0)
    return projected[..., 0, :, :], projected[..., 1, :, :]


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
