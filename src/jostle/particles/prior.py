"""Where something might be: one proposal per patch, by a spatial softmax.

N images, P patches, L proposals.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from jostle.particles.blocks import convolutions
from jostle.particles.config import DLPConfig


class Spot(NamedTuple):
    """Mean place on a heatmap, and how spread out the map is."""

    place: Tensor
    """Vertical, horizontal in [-1, 1] of the map; (..., 2)."""
    score: Tensor
    """Sum of both variances and of the signed covariance; (...)."""


class Proposed(NamedTuple):
    """Places where something might be."""

    places: Tensor
    """The best first, (N, L, 2)."""
    heat: Tensor | None = None
    """The map they are the hills of, (N, h, w) in logits, if there is one to teach."""


def spatial_softmax(heat: Tensor) -> Spot:
    """Read heatmaps (..., h, w): where their mass lies, and how concentrated it is."""
    height, width = heat.shape[-2:]
    mass = heat.flatten(-2).softmax(-1).view(heat.shape)
    y = torch.linspace(-1, 1, height, device=heat.device, dtype=heat.dtype)
    x = torch.linspace(-1, 1, width, device=heat.device, dtype=heat.dtype)
    rows, columns = mass.sum(-1), mass.sum(-2)  # (..., h), (..., w)
    mean_y, mean_x = rows @ y, columns @ x
    spread_y = (rows @ y**2 - mean_y**2).clamp(min=1e-6)
    spread_x = (columns @ x**2 - mean_x**2).clamp(min=1e-6)
    shared = (mass @ x) @ y - mean_y * mean_x
    return Spot(torch.stack((mean_y, mean_x), -1), spread_y + spread_x + shared)


def patches_of(images: Tensor, patch: int) -> Tensor:
    """Cut images (N, 3, H, W) into patches (N, P, 3, patch, patch), row by row."""
    count, channels, height, width = images.shape
    grid = images.view(count, channels, height // patch, patch, width // patch, patch)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(count, -1, channels, patch, patch)


def to_image(local: Tensor, patch: int, size: int) -> Tensor:
    """Turn places (N, P, 2) within patches into places in the image of `size` pixels."""
    across = size // patch
    corner = torch.arange(across, device=local.device, dtype=local.dtype) * patch
    corners = torch.cartesian_prod(corner, corner)  # (P, 2)
    pixels = (local + 1) / 2 * (patch - 1) + corners
    return 2 * pixels / (size - 1) - 1


class PatchPrior(nn.Module):
    """A small network that looks at each patch alone and points at one place in it."""

    def __init__(self, config: DLPConfig) -> None:
        """Propose by `config`."""
        super().__init__()
        # With black beyond the edges, even an empty patch would seem to show something.
        config = replace(config, padding="replicate")
        self.convs = convolutions(config.prior_plan, 0, config)
        self.heat = nn.Conv2d(config.prior_plan[-1][0], 1, 1)
        self._patch, self._size, self._kept = config.patch, config.image, config.proposals

    def forward(self, images: Tensor) -> Proposed:
        """Propose places (N, L, 2), the most certain first."""
        patches = patches_of(images, self._patch)  # (N, P, 3, patch, patch)
        heat = self.heat(self.convs(patches.flatten(0, 1)))[:, 0]  # (NP, h, w)
        spot = spatial_softmax(heat.unflatten(0, patches.shape[:2]))
        places = to_image(spot.place, self._patch, self._size)  # (N, P, 2)
        best = spot.score.detach().argsort(dim=1, stable=True)[:, : self._kept]  # (N, L)
        return Proposed(places.gather(1, best[..., None].expand(-1, -1, 2)))
