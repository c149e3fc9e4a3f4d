"""Multi-head attention over sets of entities, with masks and relative positions; and its block.

This file is the mathematics. On the CPU, `jostle.nets.kernels` computes the same faster.
Shapes: C networks of an ensemble, B sets, Q queries, S context entities, E features, h heads of d.
"""

import torch
from torch import Tensor, nn

from jostle.nets import kernels
from jostle.nets.config import NetConfig
from jostle.nets.kernels.attention import attend
from jostle.nets.layers import MLP, LayerNorm, Linear
from jostle.nets.relative_positions import Relative, RelPosProjection, pair_features


class Attention(nn.Module):
    """Multi-head attention without biases; entities that are not visible have no influence."""

    def __init__(self, embed_dim: int, heads: int, ensemble: int = 1, rel_pos_dim: int = 0) -> None:
        """Attend with `heads` heads; relative positions, if any, have `rel_pos_dim` features."""
        super().__init__()
        self.heads = heads
        maps = [Linear(embed_dim, embed_dim, ensemble, bias=False) for _ in range(4)]
        self.query, self.key, self.value, self.out = maps
        self.rel_pos: RelPosProjection | None = None
        if rel_pos_dim:
            self.rel_pos = RelPosProjection(embed_dim, heads, rel_pos_dim, ensemble)

    def forward(
        self, query: Tensor, context: Tensor, visible: Tensor, relative: Relative = ()
    ) -> tuple[Tensor, Tensor | None]:
        """Let queries (C, B, Q, E) attend to the visible (B, S) part of a context (C, B, S, E).

        Returns the result (C, B, Q, E) and the weights (C, B, h, Q, S); some kernels have none.
        """
        if kernels.enabled(query):
            return attend(self, query, context, visible, relative)
        result, weights = self.mix(*self.project(query, context), visible, relative)
        return self.out(result.flatten(-2)), weights

    def project(self, query: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scaled queries, keys and values by head, (C, B, T, h, d) each."""
        q, k, v = self.query(query), self.key(context), self.value(context)
        q, k, v = (x.unflatten(-1, (self.heads, -1)) for x in (q, k, v))
        return q * q.shape[-1] ** -0.5, k, v

    def mix(
        self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None, relative: Relative
    ) -> tuple[Tensor, Tensor]:
        """Average values by attention: results (C, B, Q, h, d), weights (C, B, h, Q, S)."""
        scores = torch.einsum("cbqhd,cbshd->cbhqs", q, k)
        if self.rel_pos is None or not relative:
            weights = masked_softmax(scores, visible)
            return torch.einsum("cbhqs,cbshd->cbqhd", weights, v), weights
        features = pair_features(relative)  # (B, Q, S, F)
        weights = masked_softmax(scores + self.rel_pos.scores(q, features), visible)
        result = torch.einsum("cbhqs,cbshd->cbqhd", weights, v)
        return result + self.rel_pos.values(weights, features), weights


def masked_softmax(scores: Tensor, visible: Tensor | None) -> Tensor:
    """Weights over the visible (B, S) entities, or over all; zeros for a set that has none."""
    if visible is None:
        return scores.softmax(-1)
    mask = visible[:, None, None]  # (B, 1, 1, S)
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


class Block(nn.Module):
    """Pre-LN transformer block: attention, then an MLP, each with a residual connection."""

    def __init__(self, config: NetConfig, cross: bool, ensemble: int, rel_pos_dim: int = 0) -> None:
        """Build a block of self-attention, or of cross-attention to a context."""
        super().__init__()
        size = config.embed_dim
        self.norm_attention, self.norm_mlp = LayerNorm(size, ensemble), LayerNorm(size, ensemble)
        self.norm_context = LayerNorm(size, ensemble) if cross else None
        self.attention = Attention(size, config.heads, ensemble, rel_pos_dim)
        self.mlp = MLP((size, *config.block_hidden, size), ensemble)

    def forward(
        self, x: Tensor, context: Tensor | None, visible: Tensor, relative: Relative = ()
    ) -> tuple[Tensor, Tensor | None]:
        """Update x (C, B, Q, E) from the visible part of a context, or of itself."""
        query = self.norm_attention(x)
        source = query if self.norm_context is None else self.norm_context(context)
        result, weights = self.attention(query, source, visible, relative)
        x = x + result
        return x + self.mlp(self.norm_mlp(x)), weights
