"""Relative positions of entities, as features that attention adds to its keys and values.

Pushing depends on differences: gripper to cube, cube to goal, cube to cube. A transformer that is
given absolute positions only must learn to subtract. Here attention is given the difference
itself, and sine and cosine of it at several wavelengths (Fourier features).

Sine and cosine of a difference follow from those of both ends. So each entity is described once,
and features of pairs are made of these descriptions.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

XY = 2
"""Coordinates of a position, on the table or in the image."""
_LONGEST_WAVELENGTH = 8.0
"""Wavelength of the first Fourier band, in standard deviations of the normalized position; each
next band has half the wavelength."""
_ACTION_BANDS = 4
"""Bands that describe an action's position: only wavelengths of at least one standard deviation,
so that values change smoothly with the action."""


def rel_pos_dim(bands: int) -> int:
    """Features of a relative position: the difference, and a sine and a cosine for each band."""
    return XY * (1 + 2 * bands)


class FourierPositions(NamedTuple):
    """Positions of T entities, and sine and cosine of them in each of W Fourier bands."""

    xy: Tensor
    """(B, T, 2)."""
    sine: Tensor
    """(B, T, 2 * W): all bands of x, then all of y."""
    cosine: Tensor
    """(B, T, 2 * W)."""

    @staticmethod
    def of(xy: Tensor, bands: int, num_smooth: int = 0) -> "FourierPositions":
        """Describe positions (B, T, 2); the first `num_smooth` of them by the long waves only."""
        band = torch.arange(bands, device=xy.device)
        frequencies = 2 * math.pi / _LONGEST_WAVELENGTH * 2.0**band
        angles = (xy[..., None] * frequencies).flatten(-2)  # (B, T, 2W)
        sine, cosine = angles.sin(), angles.cos()
        if num_smooth:
            long = (band < _ACTION_BANDS).repeat(XY)  # (2W,)
            all_bands = torch.arange(xy.shape[1], device=xy.device) >= num_smooth  # (T,)
            kept = (long | all_bands[:, None]).to(xy.dtype)  # (T, 2W)
            sine, cosine = sine * kept, cosine * kept
        return FourierPositions(xy, sine, cosine)

    def with_unplaced_token(self) -> "FourierPositions":
        """Prepend a token without a position: zeros."""
        return FourierPositions(*(F.pad(part, (0, 0, 1, 0)) for part in self))


@dataclass(frozen=True)
class RelativePositions:
    """Positions of S context entities relative to Q query entities."""

    query: FourierPositions
    context: FourierPositions
    mask: Tensor | None = None
    """1 where two positions can be compared, 0 where their features are zero, (Q, S) or
    (B, Q, S)."""

    @staticmethod
    def between(
        query_xy: Tensor, context_xy: Tensor, bands: int, mask: Tensor | None = None
    ) -> "RelativePositions":
        """Compare positions (B, Q, 2) and (B, S, 2) where `mask` is 1."""
        return RelativePositions(
            FourierPositions.of(query_xy, bands), FourierPositions.of(context_xy, bands), mask
        )

    def with_unplaced_token(self, in_context: bool) -> "RelativePositions":
        """Prepend a token without a position to the queries, and perhaps to the context."""
        mask = self.mask
        if mask is None:
            shape = self.query.xy.shape[1], self.context.xy.shape[1]
            mask = torch.ones(shape, device=self.query.xy.device)
        return RelativePositions(
            self.query.with_unplaced_token(),
            self.context.with_unplaced_token() if in_context else self.context,
            F.pad(mask, (int(in_context), 0, 1, 0)),
        )

    @cached_property
    def features(self) -> Tensor:
        """The difference, its sines and its cosines for every pair, (B, Q, S, F)."""
        query = FourierPositions(*(part.unsqueeze(2) for part in self.query))  # (B, Q, 1, ...)
        context = FourierPositions(*(part.unsqueeze(1) for part in self.context))  # (B, 1, S, ...)
        features = torch.cat(_differences(query, context), dim=-1)
        return features if self.mask is None else features * self.mask[..., None]

    @cached_property
    def features_first(self) -> Tensor:
        """The same with features as the first axis and samples as the last, (F, Q, S, B)."""
        query, context = (
            FourierPositions(*(part.permute(2, 1, 0).unsqueeze(axis) for part in parts))
            for parts, axis in ((self.query, 2), (self.context, 1))
        )  # (..., Q, 1, B), (..., 1, S, B)
        features = torch.cat(_differences(query, context), dim=0)
        if self.mask is None:
            return features
        mask = self.mask if self.mask.dim() == 3 else self.mask[None]
        return features * mask.permute(1, 2, 0)


def _differences(query: FourierPositions, context: FourierPositions) -> tuple[Tensor, ...]:
    """The difference of positions, its sines and its cosines."""
    return (
        context.xy - query.xy,
        context.sine * query.cosine - context.cosine * query.sine,
        context.cosine * query.cosine + context.sine * query.sine,
    )


Relative = tuple[RelativePositions, ...]
"""Several kinds of relative positions of the same entities, in the image and on the table, or
none."""


def pair_features(relative: Relative) -> Tensor:
    """Features of every pair by all kinds of relative positions, (B, Q, S, F)."""
    if len(relative) == 1:
        return relative[0].features
    return torch.cat([kind.features for kind in relative], dim=-1)


def pair_features_first(relative: Relative) -> Tensor:
    """The same with features as the first axis and samples as the last, (F, Q, S, B)."""
    if len(relative) == 1:
        return relative[0].features_first
    return torch.cat([kind.features_first for kind in relative])


class RelPosProjection(nn.Module):
    """Linear maps per head from relative positions to what they add to keys and to values."""

    def __init__(self, embed_dim: int, heads: int, features: int, ensemble: int) -> None:
        """Map `features` features for `heads` heads that share `embed_dim` features."""
        super().__init__()
        shape = (ensemble, heads, embed_dim // heads, features)
        bound = 1 / math.sqrt(features)
        self.key = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.value = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))

    def scores(self, q: Tensor, features: Tensor) -> Tensor:
        """Add to scores: queries (C, B, Q, h, d) times projected features, (C, B, h, Q, S)."""
        projected = torch.einsum("cbqhd,chdf->bqfch", q, self.key)
        return torch.einsum("bqsf,bqfch->cbhqs", features, projected)

    def values(self, weights: Tensor, features: Tensor) -> Tensor:
        """Add to results: projected features, averaged by weights (C, B, h, Q, S)."""
        mean = torch.einsum("cbhqs,bqsf->cbqhf", weights, features)
        return torch.einsum("cbqhf,chdf->cbqhd", mean, self.value)
