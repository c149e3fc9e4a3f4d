"""Where something might be: the hills of one heat map over the whole image.

Patches that look alone can point at one place each, and objects that touch often share a patch. A
map of the whole image at half its size has room for every object, and it need not be taught: the
places of particles that are there, and what the picture still lacks, are where it should be hot.

N images, K proposals, h × w cells of the map.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.particles import Particles
from jostle.particles.config import DLPConfig
from jostle.particles.prior import Proposed

STRIDE = 2
"""Pixels from cell to cell."""
_BUMP_PX = 2.0
"""Deviation of the bump that a particle leaves on the map."""
_LACK = (0.05, 0.25)
"""Squared error of a pixel that is ignored, and how much more than that makes a cell all hot."""


class FieldPrior(nn.Module):
    """A small convolutional network with wide sight, and the hills of its map."""

    def __init__(self, config: DLPConfig) -> None:
        """Propose by `config`; dilated convolutions widen the sight at no cost."""
        super().__init__()
        width = config.field_width
        self.first = nn.Conv2d(3, width, 3, stride=STRIDE, padding=1, padding_mode="replicate")
        self.rest = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=reach, dilation=reach, padding_mode="replicate")
            for reach in config.field_reaches
        )
        self.heat = nn.Conv2d(width, 1, 1)
        self._size, self._kept = config.image, config.proposals

    def start(self) -> None:
        """Start convolutions so that signals neither fade nor grow; hills are everywhere alike."""
        for layer in (self.first, *self.rest):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        if self.heat.bias is not None:
            nn.init.constant_(self.heat.bias, -2.0)

    def forward(self, images: Tensor) -> Proposed:
        """Propose places (N, K, 2), the hottest first, and give the map (N, h, w) in logits."""
        x = F.relu(self.first(images - 0.5))
        for layer in self.rest:
            x = x + F.relu(layer(x))
        heat = self.heat(x)[:, 0]  # (N, h, w)
        return Proposed(hills(heat.detach(), self._kept, self._size), heat)


def hills(heat: Tensor, count: int, size: int) -> Tensor:
    """Places (N, count, 2) of the highest local peaks of maps (N, h, w), in an image of `size`."""
    top = F.max_pool2d(heat[:, None], 3, stride=1, padding=1)[:, 0]
    peaks = torch.where(heat >= top, heat, heat - 1e4)  # others follow when peaks are used up
    best = peaks.flatten(1).topk(count, dim=1).indices  # (N, K)
    width = heat.shape[-1]
    cells = torch.stack((best // width, best % width), dim=-1)  # (N, K, 2)
    return 2 * STRIDE * cells.to(heat.dtype) / (size - 1) - 1


@torch.no_grad()
def wanted_heat(particles: Particles, error: Tensor) -> Tensor:
    """Where the map should be hot, (N, h, w) in [0, 1].

    Args:
        particles: What was found, (N, K, D): a bump where each is, as high as it is there.
        error: Squared error of the picture, (N, 1, H, W): hot is also what it still lacks.
    """
    size = error.shape[-1]
    lack = F.avg_pool2d(error, 5, stride=STRIDE, padding=2, count_include_pad=False)[:, 0]
    lack = ((lack - _LACK[0]) / _LACK[1]).clamp(0, 1)
    pixels = (particles.place + 1) / 2 * (size - 1)  # (N, K, 2)
    cells = torch.arange(0, size, STRIDE, device=error.device, dtype=error.dtype)
    gap = (cells - pixels[..., None]) / _BUMP_PX  # (N, K, 2, cells)
    down, across = (-0.5 * gap.square()).exp().unbind(2)
    down = down * particles.transparency[..., None]
    bumps = (down[..., :, None] * across[..., None, :]).amax(1)  # (N, h, w)
    return torch.maximum(bumps, lack)


def heat_loss(heat: Tensor, wanted: Tensor) -> Tensor:
    """How far maps (N, h, w) in logits are from what is wanted, summed over cells."""
    gap = F.binary_cross_entropy_with_logits(heat, wanted, reduction="none")
    return gap.sum((1, 2)).mean()
