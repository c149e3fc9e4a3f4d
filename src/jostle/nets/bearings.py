"""Where one entity lies from another, written so that attention can read it.

What matters in pushing is relative: gripper to cube, cube to goal, cube to cube. A transformer
that is only told absolute places must learn to subtract; here the difference is given, as waves of
several lengths, to the scores (whom to look at) and to the values (what is seen there).

The sine of a difference is made of sines and cosines of both ends. So with many entities no row is
ever written for a pair: each end brings its own waves, and products of matrices do the rest. With
few, writing the rows is cheaper.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PLACE = 2
"""Features at the front of an entity that are its place, on the table or in the image; with
`ground`, as many at its end are its place on the table."""
_LONGEST = 8.0
"""First wavelength in deviations of the normalized place; each next is half as long."""
_GENTLE = 4
"""Waves that an action's place is told by: down to one deviation."""


def width(waves: int) -> int:
    """Features of a bearing: the difference itself, then a sine and a cosine per wavelength."""
    return PLACE * (1 + 2 * waves)


class Waves(NamedTuple):
    """Places of T entities, and their sines and cosines at every wavelength."""

    place: Tensor
    """(B, T, 2)."""
    sine: Tensor
    """(B, T, 2 * W), x first."""
    cosine: Tensor
    """The same."""

    @staticmethod
    def of(place: Tensor, waves: int, gentle: int = 0) -> "Waves":
        """Describe places (B, T, 2); the first `gentle` of them by the longer waves only."""
        turns = 2 * math.pi / _LONGEST * 2.0 ** torch.arange(waves, device=place.device)
        angles = (place[..., None] * turns).flatten(-2)  # (B, T, 2W)
        sine, cosine = angles.sin(), angles.cos()
        if gentle:
            long = (torch.arange(waves, device=place.device) < _GENTLE).repeat(PLACE)  # (2W,)
            firm = torch.arange(place.shape[1], device=place.device) >= gentle  # (T,)
            kept = (long | firm[:, None]).to(place.dtype)  # (T, 2W)
            sine, cosine = sine * kept, cosine * kept
        return Waves(place, sine, cosine)

    def after_nobody(self) -> "Waves":
        """The same after one more entity that is nowhere."""
        return Waves(*(F.pad(part, (0, 0, 1, 0)) for part in self))

    def columns(self) -> Tensor:
        """What products are made with: place, one, sines, cosines; (B, T, 3 + 4W)."""
        return torch.cat(
            (self.place, torch.ones_like(self.place[..., :1]), self.sine, self.cosine), dim=-1
        )


@dataclass(frozen=True)
class Bearings:
    """Where S entities `there` lie from Q entities `here`."""

    here: Waves
    there: Waves
    known: Tensor | None = None
    """1 where two places have to do with each other, 0 where their bearing is zero, (Q, S) or
    (B, Q, S)."""

    @staticmethod
    def between(here: Tensor, there: Tensor, waves: int, known: Tensor | None = None) -> "Bearings":
        """Places (B, Q, 2) and (B, S, 2); pairs that are not `known` are strangers."""
        return Bearings(Waves.of(here, waves), Waves.of(there, waves), known)

    def with_stranger(self, there: bool) -> "Bearings":
        """The same after one more entity `here`, and perhaps `there`, whose bearings are zero."""
        known = self.known
        if known is None:
            ends = self.here.place.shape[1], self.there.place.shape[1]
            known = torch.ones(ends, device=self.here.place.device)
        return Bearings(
            self.here.after_nobody(),
            self.there.after_nobody() if there else self.there,
            F.pad(known, (int(there), 0, 1, 0)),
        )

    @cached_property
    def pairs(self) -> Tensor:
        """The same, spelled out for every pair: (B, Q, S, F)."""
        here = Waves(*(part.unsqueeze(2) for part in self.here))  # (B, Q, 1, ...)
        there = Waves(*(part.unsqueeze(1) for part in self.there))  # (B, 1, S, ...)
        found = torch.cat(
            (
                there.place - here.place,
                there.sine * here.cosine - there.cosine * here.sine,
                there.cosine * here.cosine + there.sine * here.sine,
            ),
            dim=-1,
        )
        return found if self.known is None else found * self.known[..., None]


def rows(found: tuple[Bearings, ...]) -> Tensor:
    """Bearings of every pair, one kind after the other: (B, Q, S, F)."""
    return found[0].pairs if len(found) == 1 else torch.cat([one.pairs for one in found], dim=-1)


class BearingReader(nn.Module):
    """How each attention head reads bearings: a part of the keys, and a part of the values."""

    def __init__(self, embedding: int, heads: int, told: int, copies: int) -> None:
        """Serve `heads` heads that share `embedding` features; bearings have `told` features."""
        super().__init__()
        shape = (copies, heads, embedding // heads, told)
        bound = 1 / math.sqrt(told)
        self.key = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.value = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))

    def read(self, found: Tensor) -> tuple[Tensor, Tensor]:
        """What bearings (B, Q, S, F) add to keys and values: each (C, B, Q, S, h, d)."""
        copies, heads, part, _ = self.key.shape
        both = torch.stack((self.key, self.value), dim=1)  # (C, 2, h, d, F)
        told = F.linear(found, both.flatten(0, 3))  # (B, Q, S, C*2*h*d)
        told = told.view(*told.shape[:3], copies, 2, heads, part).movedim(3, 0)
        return told[..., 0, :, :], told[..., 1, :, :]

    def pair_scores(self, queries: Tensor, found: Tensor) -> Tensor:
        """What queries (C, B, Q, h, d) make of bearings (B, Q, S, F): (C, B, h, Q, S)."""
        asked = torch.einsum("cbqhd,chdf->bqfch", queries, self.key)
        return torch.einsum("bqsf,bqfch->cbhqs", found, asked)

    def pair_values(self, weights: Tensor, found: Tensor) -> Tensor:
        """What is seen through weights (C, B, h, Q, S): (C, B, Q, h, d)."""
        mixed = torch.einsum("cbhqs,bqsf->cbqhf", weights, found)
        return torch.einsum("cbqhf,chdf->cbqhd", mixed, self.value)

    def scores(self, queries: Tensor, found: tuple[Bearings, ...]) -> Tensor:
        """What queries (C, h, B, Q, d) make of bearings: (C, h, B, Q, S)."""
        copies, heads, batch, count, part = queries.shape
        rows = queries.reshape(copies * heads, batch * count, part)
        asked = torch.bmm(rows, self.key.flatten(0, 1))  # (Ch, BQ, F)
        asked = asked.view(copies, heads, batch, count, -1)
        parts = [
            self._score(some, one)
            for some, one in zip(asked.chunk(len(found), dim=-1), found, strict=True)
        ]
        return sum(parts[1:], start=parts[0])

    def values(self, weights: Tensor, found: tuple[Bearings, ...]) -> Tensor:
        """What is seen through weights (C, h, B, Q, S): (C, h, B, Q, d)."""
        copies, heads, batch, count, _ = weights.shape
        mixed = torch.cat([self._mean(weights, one) for one in found], dim=-1)
        rows = mixed.view(copies * heads, batch * count, -1)
        seen = torch.bmm(rows, self.value.flatten(0, 1).transpose(1, 2))
        return seen.view(copies, heads, batch, count, -1)

    def _score(self, asked: Tensor, found: Bearings) -> Tensor:
        """Products (C, h, B, Q, S) of what is asked for (C, h, B, Q, F) with every pair's row."""
        here, there, known = found.here, found.there, found.known
        waves = here.sine.shape[-1]
        ahead, sine, cosine = torch.split(asked, [PLACE, waves, waves], dim=-1)
        turned = torch.cat(
            (
                ahead,
                -(ahead * here.place).sum(-1, keepdim=True),
                sine * here.cosine + cosine * here.sine,
                cosine * here.cosine - sine * here.sine,
            ),
            dim=-1,
        )  # (C, h, B, Q, 3 + 4W)
        scores = turned @ there.columns().transpose(1, 2)
        return scores if known is None else scores * known

    def _mean(self, weights: Tensor, found: Bearings) -> Tensor:
        """Weighted means (C, h, B, Q, F) of the rows of pairs."""
        here, there, known = found.here, found.there, found.known
        waves = here.sine.shape[-1]
        mixed = (weights if known is None else weights * known) @ there.columns()
        place, one, sine, cosine = torch.split(mixed, [PLACE, 1, waves, waves], dim=-1)
        return torch.cat(
            (
                place - one * here.place,
                sine * here.cosine - cosine * here.sine,
                cosine * here.cosine + sine * here.sine,
            ),
            dim=-1,
        )
