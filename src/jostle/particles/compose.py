"""From particles to pictures: draw each glimpse, and lay them over the background.

Where glimpses overlap, they vote by depth and transparency: with a = t·A (transparency times
alpha) and w = a·sigmoid(-depth), the picture is Σ ŵ·a·color over a background seen through
1 - Σ ŵ·a, where ŵ = w / (Σ w + eps). Five sums over particles are all that takes.
"""

import torch
from torch import Tensor, nn

from jostle.core.particles import Particles
from jostle.particles.blocks import Block
from jostle.particles.config import DLPConfig
from jostle.particles.glimpse import paste, paste_sum

EPS = 1e-5
"""Added to the sum of votes."""
_FAINT = 1.0
"""Change that is too little to have a middle, summed over the pixels of a glimpse."""


class GlimpseDecoder(nn.Module):
    """Draw glimpses from features."""

    def __init__(self, config: DLPConfig) -> None:
        """Build by `config`."""
        super().__init__()
        side, maps = config.decoder_side, config.decoder_maps
        self._start = (maps, side, side)
        self.trunk = nn.Sequential(
            nn.Linear(config.features, config.decoder_hidden),
            nn.ReLU(),
            nn.Linear(config.decoder_hidden, maps * side**2),
            nn.ReLU(),
        )
        layers: list[nn.Module] = []
        for index, outputs in enumerate(config.decoder_plan):
            layers.append(Block(maps, outputs, config, double=index < config.doublings))
            maps = outputs
        kernel = config.decoder_kernel
        self.convs = nn.Sequential(*layers, nn.Conv2d(maps, 4, kernel, padding=kernel // 2))
        self.tint = nn.Linear(config.features, 3) if config.tint else None

    def forward(self, features: Tensor) -> Tensor:
        """Map features (N, K, l) to glimpses (N, K, 4, S, S): alpha, red, green, blue."""
        flat = self.trunk(features.flatten(0, 1)).unflatten(1, self._start)
        drawn = self.convs(flat)  # (NK, 4, S, S)
        if self.tint is not None:
            alpha, color = drawn[:, :1], drawn[:, 1:]
            color = color + self.tint(features.flatten(0, 1))[..., None, None]
            drawn = torch.cat((alpha, color), dim=1)
        return drawn.sigmoid().unflatten(0, features.shape[:2])


def five_sums(alpha: Tensor, color: Tensor, depth: Tensor, transparency: Tensor) -> Tensor:
    """Terms (..., K, 5, h, w) whose sums over particles make the picture.

    Args:
        alpha: (..., K, 1, h, w).
        color: (..., K, 3, h, w).
        depth: (..., K).
        transparency: (..., K).
    """
    front, there = ((-depth).sigmoid()[..., None, None, None], transparency[..., None, None, None])
    vote = there * front * alpha
    strength = vote * there * alpha
    return torch.cat((vote, strength, strength * color), dim=-3)


def picture(sums: Tensor, background: Tensor) -> Tensor:
    """Lay what five sums (N, 5, H, W) say over the background (N, 3, H, W)."""
    votes, strength, color = sums[:, :1] + EPS, sums[:, 1:2], sums[:, 2:]
    return background * (1 - strength / votes) + color / votes


def compose(
    glimpses: Tensor,
    particles: Particles,
    background: Tensor,
    config: DLPConfig,
    jitter: float = 0.0,
    rng: torch.Generator | None = None,
) -> Tensor:
    """Picture (N, 3, H, W) of particles (N, K, D) that look like `glimpses` (N, K, 4, S, S).

    Args:
        glimpses: What the decoder drew.
        particles: Where, how large, how deep and how much.
        background: What is behind, (N, 3, H, W).
        config: Its `joint` says whether alpha is squared on canvases or in glimpses.
        jitter: Deviation of the noise on alpha.
        rng: Source of that noise.
    """
    size = (config.image, config.image)
    exact = config.joint == "canvas"
    if exact:
        glimpses = paste(glimpses, particles.place, particles.boxes, size)
    alpha, color = glimpses[:, :, :1], glimpses[:, :, 1:]
    if jitter:
        noise = torch.empty_like(alpha).normal_(generator=rng)
        alpha = (alpha + jitter * noise).clamp(0, 1)
    terms = five_sums(alpha, color, particles.depth, particles.transparency)
    if exact:
        return picture(terms.sum(1), background)
    return picture(paste_sum(terms, particles.place, particles.boxes, size), background)


def off_center(change: Tensor, particles: Particles, size: int) -> Tensor:
    """Squared pixels (N, K) from each place to the middle of what its particle changes.

    Only the place feels it, and a particle only as much as it is there: a place moves to the middle
    of what its particle adds to the background, so that it means the same wherever the proposal was
    and however large the box is.

    Args:
        change: How much each pixel of the glimpses differs from what is behind, (N, K, S, S).
        particles: Whose, (N, K, D).
        size: Side of the image in pixels.
    """
    with torch.no_grad():
        steps = torch.linspace(-1, 1, change.shape[-1], device=change.device, dtype=change.dtype)
        mass = change.sum((-2, -1)) + _FAINT
        middle = torch.stack((change.sum(-1) @ steps, change.sum(-2) @ steps), dim=-1)  # (N, K, 2)
        goal = particles.place + middle / mass[..., None] * particles.boxes
        weight = particles.transparency
    gap = (particles.place - goal) * (size - 1) / 2
    return weight * gap.square().sum(-1)
