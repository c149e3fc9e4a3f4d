"""Relative positions of large sets: products of descriptions of both ends, no array of all pairs.

The difference, its sines and its cosines are sums of products of a number of the query and one of
the context: b - a, sin(b - a) = sin b cos a - cos b sin a, cos(b - a) = cos b cos a + sin b sin a.
So what belongs to the query is multiplied into the queries, or into the result, and matrix
products do the rest.
"""

import torch
from torch import Tensor

from jostle.nets.relative_positions import (
    XY,
    FourierPositions,
    Relative,
    RelativePositions,
    RelPosProjection,
)


def scores(rel_pos: RelPosProjection, q: Tensor, relative: Relative) -> Tensor:
    """Add to scores of queries (C, h, B, Q, d): (C, h, B, Q, S)."""
    ensemble, heads, batch, queries, head_dim = q.shape
    rows = q.reshape(ensemble * heads, batch * queries, head_dim)
    projected = torch.bmm(rows, rel_pos.key.flatten(0, 1))  # (Ch, BQ, F)
    projected = projected.view(ensemble, heads, batch, queries, -1)
    kinds = zip(projected.chunk(len(relative), dim=-1), relative, strict=True)
    parts = [_scores(features, kind) for features, kind in kinds]
    return sum(parts[1:], start=parts[0])


def values(rel_pos: RelPosProjection, weights: Tensor, relative: Relative) -> Tensor:
    """Add to results of weights (C, h, B, Q, S): (C, h, B, Q, d)."""
    ensemble, heads, batch, queries, _ = weights.shape
    means = torch.cat([_mean(weights, kind) for kind in relative], dim=-1)
    rows = means.view(ensemble * heads, batch * queries, -1)
    projected = torch.bmm(rows, rel_pos.value.flatten(0, 1).transpose(1, 2))
    return projected.view(ensemble, heads, batch, queries, -1)


def _scores(projected: Tensor, relative: RelativePositions) -> Tensor:
    """Products (C, h, B, Q, S) of projected queries (C, h, B, Q, F) and features of pairs."""
    query, mask = relative.query, relative.mask
    bands = query.sine.shape[-1]
    ahead, sine, cosine = torch.split(projected, [XY, bands, bands], dim=-1)
    combined = torch.cat(
        (
            ahead,
            -(ahead * query.xy).sum(-1, keepdim=True),
            sine * query.cosine + cosine * query.sine,
            cosine * query.cosine - sine * query.sine,
        ),
        dim=-1,
    )  # (C, h, B, Q, 3 + 4W)
    products = combined @ _columns(relative.context).transpose(1, 2)
    return products if mask is None else products * mask


def _mean(weights: Tensor, relative: RelativePositions) -> Tensor:
    """Weighted means (C, h, B, Q, F) of the features of pairs."""
    query, mask = relative.query, relative.mask
    bands = query.sine.shape[-1]
    mean = (weights if mask is None else weights * mask) @ _columns(relative.context)
    xy, total, sine, cosine = torch.split(mean, [XY, 1, bands, bands], dim=-1)
    return torch.cat(
        (
            xy - total * query.xy,
            sine * query.cosine - cosine * query.sine,
            cosine * query.cosine + sine * query.sine,
        ),
        dim=-1,
    )


def _columns(context: FourierPositions) -> Tensor:
    """Position, one, sines and cosines of the context, (B, S, 3 + 4W)."""
    ones = torch.ones_like(context.xy[..., :1])
    return torch.cat((context.xy, ones, context.sine, context.cosine), dim=-1)
