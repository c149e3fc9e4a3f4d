"""Multi-head attention over entity sets, masked on the keys, and the blocks made of it."""

import torch
from torch import Tensor, nn

from jostle.nets import few
from jostle.nets.bearings import BearingReader, Bearings, rows
from jostle.nets.layers import MLP, LayerNorm, Linear

_FEW = 12
"""Up to so many keys, matrix products one sample at a time are slow."""
_FEW_TO_READ = 4
"""The same with bearings, which cost a key and a value for every pair."""
_SOME = 12
"""Up to so many keys, bearings are written down for every pair; beyond, each end has its own."""


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
        bearings: tuple[Bearings, ...] = (),
        keep_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Let `to` (C, B, Q, E) attend to `of` (C, B, S, E), of which `visible` (B, S) is seen.

        Where `of` lies from `to` is told by `bearings`.

        Returns:
            The result (C, B, Q, E) and, if asked for, the weights (C, B, h, Q, S).
        """
        if self.reader is None:
            bearings = ()
        if not bearings and not keep_weights and _suits_few(of, visible):
            maps = (self.query.weight, self.key.weight, self.value.weight, self.out.weight)
            return few.attend(to, of, maps, self.heads, visible), None
        q, k, v = self.query(to), self.key(of), self.value(of)
        q, k, v = (x.unflatten(-1, (self.heads, -1)) for x in (q, k, v))  # (C, B, T, h, d)
        q = q * q.shape[-1] ** -0.5
        keys = of.shape[2]
        if keys <= (_FEW_TO_READ if bearings else _FEW):
            mix = self._mix_few
        else:
            mix = self._mix_some if bearings and keys <= _SOME else self._mix_many
        mixed, weights = mix(q, k, v, visible, bearings)
        return self.out(mixed.flatten(-2)), weights if keep_weights else None

    def _mix_few(
        self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor, bearings: tuple[Bearings, ...]
    ) -> tuple[Tensor, Tensor]:
        """Mix values (C, B, S, h, d), pair by pair: (C, B, Q, h, d) and weights (C, B, h, Q, S)."""
        k, v = k.unsqueeze(2), v.unsqueeze(2)  # (C, B, 1, S, h, d)
        if bearings:
            assert self.reader is not None
            more_k, more_v = self.reader.read(rows(bearings))
            k, v = k + more_k, v + more_v  # (C, B, Q, S, h, d)
        weights = _shares((q.unsqueeze(3) * k).sum(-1), visible[None, :, None, :, None], -2)
        return (weights.unsqueeze(-1) * v).sum(3), weights.permute(0, 1, 4, 2, 3)

    def _mix_some(
        self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor, bearings: tuple[Bearings, ...]
    ) -> tuple[Tensor, Tensor]:
        """Mix the same with a bearing, but no key and value, for every pair."""
        assert self.reader is not None
        told = rows(bearings)
        scores = torch.einsum("cbqhd,cbshd->cbhqs", q, k) + self.reader.pair_scores(q, told)
        weights = _shares(scores, visible[:, None, None], -1)
        mixed = torch.einsum("cbhqs,cbshd->cbqhd", weights, v)
        mixed = mixed + self.reader.pair_values(weights, told)
        return mixed, weights

    def _mix_many(
        self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor, bearings: tuple[Bearings, ...]
    ) -> tuple[Tensor, Tensor]:
        """Mix the same by products of matrices, and what is told by bearings."""
        q, k, v = (x.permute(0, 3, 1, 2, 4).contiguous() for x in (q, k, v))  # (C, h, B, T, d)
        scores = q @ k.transpose(-1, -2)  # (C, h, B, Q, S)
        if bearings:
            assert self.reader is not None
            scores = scores + self.reader.scores(q, bearings)
        weights = _shares(scores, visible[:, None], -1)
        mixed = weights @ v
        if bearings:
            assert self.reader is not None
            mixed = mixed + self.reader.values(weights, bearings)
        return mixed.permute(0, 2, 3, 1, 4), weights.transpose(1, 2)


def _suits_few(of: Tensor, visible: Tensor) -> bool:
    """Whether the way of `few` fits: few entities, some of each set seen, full numbers, a CPU."""
    device = of.device.type
    if of.shape[2] > _FEW or device != "cpu" or torch.is_autocast_enabled(device):
        return False
    return bool(visible.any(1).all())


def _shares(scores: Tensor, visible: Tensor, keys: int) -> Tensor:
    """Turn scores into weights over the axis `keys`, of which `visible`, made to fit, is seen."""
    if visible.all():
        return scores.softmax(keys)
    weights = scores.masked_fill(~visible, torch.finfo(scores.dtype).min).softmax(keys)
    if visible.any(keys).all():
        return weights
    return weights * visible  # a set in which nothing is visible attends to nothing


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
        self,
        x: Tensor,
        context: Tensor | None,
        visible: Tensor,
        bearings: tuple[Bearings, ...] = (),
    ) -> Tensor:
        """Update x (C, B, Q, E) from a context (C, B, S, E), or from itself."""
        return self.look(x, context, visible, bearings)[0]

    def look(
        self,
        x: Tensor,
        context: Tensor | None,
        visible: Tensor,
        bearings: tuple[Bearings, ...] = (),
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
