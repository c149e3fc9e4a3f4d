"""Proposals from one heatmap over the whole image: its local maxima.

Separate patches can propose one position each, and objects that touch often share a patch. A
heatmap of the whole image at half its size has room for every object. It needs no labels: it is
trained to be high at the positions of visible particles and where the reconstruction is poor.

N images, K proposals, h × w cells of the heatmap.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.particles import Particles
from jostle.encoders.dlp_config import DLPConfig
from jostle.encoders.prior import Proposals

STRIDE = 2
"""Pixels from cell to cell."""
_BUMP_STD_PX = 2.0
"""Standard deviation of the Gaussian bump that a particle leaves in the target, in pixels."""
_ERROR_MIN, _ERROR_RANGE = 0.05, 0.25
"""Squared error of a pixel that is ignored, and how much more than that makes a cell 1."""


class HeatmapPrior(nn.Module):
    """A small convolutional network with a wide receptive field, and its local maxima."""

    def __init__(self, config: DLPConfig) -> None:
        """Build from `config`; dilated convolutions widen the receptive field at no cost."""
        super().__init__()
        width = config.heatmap_channels
        self.stem = nn.Conv2d(3, width, 3, stride=STRIDE, padding=1, padding_mode="replicate")
        self.dilated_convs = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=rate, dilation=rate, padding_mode="replicate")
            for rate in config.heatmap_dilations
        )
        self.heatmap = nn.Conv2d(width, 1, 1)
        self._image_size, self._num_proposals = config.image_size, config.num_proposals

    def init_weights(self) -> None:
        """Initialize convolutions to preserve variance, and the heatmap to be low everywhere."""
        for layer in (self.stem, *self.dilated_convs):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        if self.heatmap.bias is not None:
            nn.init.constant_(self.heatmap.bias, -2.0)

    def forward(self, images: Tensor) -> Proposals:
        """Propose positions (N, K, 2), the highest first, and give the map (N, h, w) in logits."""
        x = F.relu(self.stem(images - 0.5), inplace=True)
        for layer in self.dilated_convs:
            x = F.relu(layer(x), inplace=True) + x
        heatmap = self.heatmap(x)[:, 0]  # (N, h, w)
        positions = local_maxima(heatmap.detach(), self._num_proposals, self._image_size)
        return Proposals(positions, heatmap)


def local_maxima(heatmap: Tensor, count: int, image_size: int) -> Tensor:
    """Positions (N, count, 2) in the image of the highest local maxima of maps (N, h, w)."""
    neighborhood = F.max_pool2d(heatmap[:, None], 3, stride=1, padding=1)[:, 0]
    # Other cells follow when there are fewer local maxima than `count`.
    ranked = torch.where(heatmap >= neighborhood, heatmap, heatmap - 1e4)
    best = ranked.flatten(1).topk(count, dim=1).indices  # (N, K)
    width = heatmap.shape[-1]
    cells = torch.stack((best // width, best % width), dim=-1)  # (N, K, 2)
    return 2 * STRIDE * cells.to(heatmap.dtype) / (image_size - 1) - 1


@torch.no_grad()
def heatmap_target(particles: Particles, error: Tensor) -> Tensor:
    """Target of the heatmap, (N, h, w) in [0, 1].

    Args:
        particles: Particles (N, K, D): each leaves a bump as high as its opacity.
        error: Squared error of the reconstruction, (N, 1, H, W): the target is also high where
            something is still missing.
    """
    # What the reconstruction lacks
    size = error.shape[-1]
    missing = F.avg_pool2d(error, 5, stride=STRIDE, padding=2, count_include_pad=False)[:, 0]
    missing = ((missing - _ERROR_MIN) / _ERROR_RANGE).clamp(0, 1)

    # Bumps at particles
    pixels = (particles.position + 1) / 2 * (size - 1)  # (N, K, 2)
    cells = torch.arange(0, size, STRIDE, device=error.device, dtype=error.dtype)
    gap = (cells - pixels[..., None]) / _BUMP_STD_PX  # (N, K, 2, cells)
    vertical, horizontal = (-0.5 * gap.square()).exp().unbind(2)
    vertical = vertical * particles.opacity[..., None]
    bumps = (vertical[..., :, None] * horizontal[..., None, :]).amax(1)  # (N, h, w)
    return torch.maximum(bumps, missing)


def heatmap_loss(heatmap: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of maps (N, h, w) in logits and their target, summed over cells."""
    error = F.binary_cross_entropy_with_logits(heatmap, target, reduction="none")
    return error.sum((1, 2)).mean()
