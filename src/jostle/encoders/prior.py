"""Proposals from patches: one position per patch, by a spatial softmax.

N images, P patches, L proposals.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from jostle.encoders.blocks import conv_stack
from jostle.encoders.dlp_config import DLPConfig


class SpatialMean(NamedTuple):
    """Mean position on a heatmap, and how spread out the map is."""

    position: Tensor
    """Vertical, horizontal in [-1, 1] of the map; (..., 2)."""
    score: Tensor
    """Sum of both variances and of the signed covariance; (...)."""


class Proposals(NamedTuple):
    """Positions where objects might be."""

    positions: Tensor
    """The best first, (N, L, 2)."""
    heatmap: Tensor | None = None
    """The map that they are local maxima of, (N, h, w) in logits, if the proposer trains one."""


def spatial_softmax(heatmap: Tensor) -> SpatialMean:
    """Mean position and spread of heatmaps (..., h, w), given in logits."""
    height, width = heatmap.shape[-2:]
    mass = heatmap.flatten(-2).softmax(-1).view(heatmap.shape)
    y = torch.linspace(-1, 1, height, device=heatmap.device, dtype=heatmap.dtype)
    x = torch.linspace(-1, 1, width, device=heatmap.device, dtype=heatmap.dtype)
    rows, columns = mass.sum(-1), mass.sum(-2)  # (..., h), (..., w)
    mean_y, mean_x = rows @ y, columns @ x
    variance_y = (rows @ y**2 - mean_y**2).clamp(min=1e-6)
    variance_x = (columns @ x**2 - mean_x**2).clamp(min=1e-6)
    covariance = (mass @ x) @ y - mean_y * mean_x
    score = variance_y + variance_x + covariance
    return SpatialMean(torch.stack((mean_y, mean_x), -1), score)


def to_patches(images: Tensor, patch_size: int) -> Tensor:
    """Cut images (N, 3, H, W) into patches (N, P, 3, h, w), row by row."""
    count, channels, height, width = images.shape
    rows, columns = height // patch_size, width // patch_size
    grid = images.view(count, channels, rows, patch_size, columns, patch_size)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(count, -1, channels, patch_size, patch_size)


def patch_to_image(local: Tensor, patch_size: int, image_size: int) -> Tensor:
    """Turn positions (N, P, 2) within patches into positions in the image."""
    across = image_size // patch_size
    corner = torch.arange(across, device=local.device, dtype=local.dtype) * patch_size
    corners = torch.stack(torch.meshgrid(corner, corner, indexing="ij"), -1).view(-1, 2)  # (P, 2)
    pixels = (local + 1) / 2 * (patch_size - 1) + corners
    return 2 * pixels / (image_size - 1) - 1


def _least(scores: Tensor, count: int) -> Tensor:
    """Indices (N, count) of the least of scores (N, P); of equal ones the first come first."""
    if torch.onnx.is_in_onnx_export():  # ONNX sorts by TopK, which is stable there
        return scores.topk(count, dim=1, largest=False).indices
    return scores.argsort(dim=1, stable=True)[:, :count]


class PatchPrior(nn.Module):
    """A small network that proposes one position in each patch, from that patch alone."""

    def __init__(self, config: DLPConfig) -> None:
        """Build from `config`."""
        super().__init__()
        # Zero padding would create artificial edges around an empty patch.
        config = replace(config, padding="replicate")
        self.convs = conv_stack(config.prior_convs, 0, config)
        self.heatmap = nn.Conv2d(config.prior_convs[-1][0], 1, 1)
        self._patch_size, self._image_size = config.patch_size, config.image_size
        self._num_proposals = config.num_proposals

    def forward(self, images: Tensor) -> Proposals:
        """Propose positions (N, L, 2), the least spread out first."""
        patches = to_patches(images, self._patch_size)  # (N, P, 3, h, w)
        heatmap = self.heatmap(self.convs(patches.flatten(0, 1)))[:, 0]  # (NP, h', w')
        local, score = spatial_softmax(heatmap.view(*patches.shape[:2], *heatmap.shape[1:]))
        positions = patch_to_image(local, self._patch_size, self._image_size)  # (N, P, 2)
        best = _least(score.detach(), self._num_proposals)  # (N, L)
        return Proposals(positions.gather(1, best[..., None].expand(-1, -1, 2)))
