"""Multi-head attention over entity sets, masked on the keys, and the blocks made of it."""

import torch
from torch import Tensor, nn

from jostle.nets.bearings import BearingReader
from jostle.nets.layers import MLP, LayerNorm, Linear

_FEW = 12
"""Up to so many keys, scores as a broadcast product beat the batched matrix product."""
_FEW_TO_READ = 4
"""The same with bearings, which cost a row for every pair."""


class Attention(nn.Module):
    """Multi-head attention without biases; what is not visible has no influence."""

    def __init__(self, width: int, heads: int, copies: int = 1, told: int = 0) -> None:
        """Attend with `heads` heads of `width / heads` features; read bearings of `told` more."""
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (
            Linear(width, width, copies, bias=False) for _ in range(4)
        )
        self.reader = BearingReader(width, heads, told, copies) if told else None

    def forward(
        self,
        to: Tensor,
        of: Tensor,
        visible: Tensor,
        bearings: Tensor | None = None,
        keep_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Let `to` (C, B, Q, E) attend to `of` (C, B, S, E), of which `visible` (B, S) is seen.

        Where `of` lies from `to` is told by `bearings` (B, Q, S, F).

        Returns:
            The result (C, B, Q, E) and, if asked for, the weights (C, B, h, Q, S).
        """
        q, k, v = self.query(to), self.key(of), self.value(of)
        q, k, v = (x.unflatten(-1, (self.heads, -1)) for x in (q, k, v))  # (C, B, T, h, d)
        q = q * q.shape[-1] ** -0.5
        if self.reader is None:
            bearings = None
        few = _FEW if bearings is None else _FEW_TO_READ
        mix = self._mix_few if of.shape[2] <= few else self._mix_many
        mixed, weights = mix(q, k, v, visible, bearings)
        result = self.out(mixed.flatten(-2))
        return result, weights.permute(0, 1, 4, 2, 3) if keep_weights else None

    def _mix_few(
        self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor, bearings: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Mix values (C, B, S, h, d), pair by pair: (C, B, Q, h, d) and weights (C, B, Q, S, h)."""
        k, v = k.unsqueeze(2), v.unsqueeze(2)  # (C, B, 1, S, h, d)
        if bearings is not None:
            assert self.reader is not None
            more_k, more_v = self.reader.read(bearings)
            k, v = k + more_k, v + more_v  # (C, B, Q, S, h, d)
        weights = _shares((q.unsqueeze(3) * k).sum(-1), visible)
        return (weights.unsqueeze(-1) * v).sum(3), weights

    def _mix_many(
        self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor, bearings: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Mix the same without a row for every pair."""
        scores = torch.einsum("cbqhd,cbshd->cbqsh", q, k)
        if bearings is not None:
            assert self.reader is not None
            scores = scores + self.reader.scores(q, bearings)
        weights = _shares(scores, visible)
        mixed = torch.einsum("cbqsh,cbshd->cbqhd", weights, v)
        if bearings is not None:
            assert self.reader is not None
            mixed = mixed + self.reader.values(weights, bearings)
        return mixed, weights


def _shares(scores: Tensor, visible: Tensor) -> Tensor:
    """Turn scores (C, B, Q, S, h) into weights over S, of which `visible` (B, S) is seen."""
    if visible.all():
        return scores.softmax(3)
    scores = scores.masked_fill(~visible[None, :, None, :, None], -torch.inf)
    # A set in which nothing is visible attends to nothing instead of giving NaN.
    empty = ~visible.any(-1)[None, :, None, None, None]  # (1, B, 1, 1, 1)
    return scores.masked_fill(empty, 0.0).softmax(3).masked_fill(empty, 0.0)


class Block(nn.Module):
    """Attention, then an MLP, each on a normalized input and added back (pre-LN)."""

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: tuple[int, ...],
        cross: bool,
        copies: int = 1,
        told: int = 0,
    ) -> None:
        """Build a self-attention block, or one that attends to another set."""
        super().__init__()
        self.norm_attention, self.norm_mlp = LayerNorm(width, copies), LayerNorm(width, copies)
        self.norm_context = LayerNorm(width, copies) if cross else None
        self.attention = Attention(width, heads, copies, told)
        self.mlp = MLP((width, *hidden, width), copies)

    def forward(
        self, x: Tensor, context: Tensor | None, visible: Tensor, bearings: Tensor | None = None
    ) -> Tensor:
        """Update x (C, B, Q, E) from a context (C, B, S, E), or from itself."""
        return self.look(x, context, visible, bearings)[0]

    def look(
        self,
        x: Tensor,
        context: Tensor | None,
        visible: Tensor,
        bearings: Tensor | None = None,
        keep_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Do the same and also return the attention weights if asked for."""
        normed = self.norm_attention(x)
        if self.norm_context is None:
            source = normed
        else:
            assert context is not None
            source = self.norm_context(context)
        mixed, weights = self.attention(normed, source, visible, bearings, keep_weights)
        x = x + mixed
        return x + self.mlp(self.norm_mlp(x)), weights
