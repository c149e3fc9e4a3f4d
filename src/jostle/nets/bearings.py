"""Where one entity lies from another, written so that attention can read it.

What matters in pushing is relative: gripper to cube, cube to goal, cube to cube. A transformer
that is only told absolute places must learn to subtract; here the difference is given, as waves of
several lengths, to the scores (whom to look at) and to the values (what is seen there).
"""

import math

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


def bearings(here: Tensor, there: Tensor, waves: int) -> Tensor:
    """Describe where `there` (B, V, S, 2) lies from `here` (B, V, Q, 2): (B, V*Q, V*S, F).

    Places in different views have nothing to do with each other: their bearings are zero.
    """
    views = here.shape[1]
    gap = there.flatten(1, 2)[:, None] - here.flatten(1, 2)[:, :, None]  # (B, VQ, VS, 2)
    turns = 2 * math.pi / _LONGEST * 2.0 ** torch.arange(waves, device=gap.device)
    angles = gap[..., None] * turns  # (B, VQ, VS, 2, W)
    found = torch.cat((gap, angles.sin().flatten(-2), angles.cos().flatten(-2)), dim=-1)
    if views == 1:
        return found
    same = torch.eye(views, device=gap.device)
    same = same.repeat_interleave(here.shape[2], 0).repeat_interleave(there.shape[2], 1)
    return found * same[..., None]


def smooth(waves: int, like: Tensor) -> Tensor:
    """Weights (F,) that keep the longer waves only, so that values vary gently with an action."""
    kept = (torch.arange(waves, device=like.device) < _GENTLE).to(like.dtype).repeat(2 * PLACE)
    return torch.cat((kept.new_ones(PLACE), kept))


class BearingReader(nn.Module):
    """How each attention head reads bearings: a part of the keys, and a part of the values.

    For few entities `read` gives both for every pair; for many, `scores` and `values` come to the
    same without a row for every pair.
    """

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

    def scores(self, queries: Tensor, found: Tensor) -> Tensor:
        """What queries (C, B, Q, h, d) make of bearings (B, Q, S, F): (C, B, Q, S, h)."""
        asked = torch.einsum("cbqhd,chdf->bqfch", queries, self.key)
        return torch.einsum("bqsf,bqfch->cbqsh", found, asked)

    def values(self, weights: Tensor, found: Tensor) -> Tensor:
        """What is seen through weights (C, B, Q, S, h): (C, B, Q, h, d)."""
        mixed = torch.einsum("cbqsh,bqsf->cbqhf", weights, found)
        return torch.einsum("cbqhf,chdf->cbqhd", mixed, self.value)
