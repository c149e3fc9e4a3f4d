"""From particles to images: decode each glimpse, and composite all of them over the background.

Where glimpses overlap, they are weighted by depth and opacity. With a = opacity · alpha and
w = a · sigmoid(-depth), the image is Σ ŵ·a·color over a background weighted by 1 - Σ ŵ·a, where
ŵ = w / (Σ w + eps). It only needs five sums over particles: Σ w, Σ w·a and Σ w·a·color.
"""

import torch
from torch import Tensor, nn

from jostle.core.particles import Particles
from jostle.encoders.blocks import ConvBlock
from jostle.encoders.dlp_config import DLPConfig
from jostle.encoders.glimpse import paste, paste_sum

EPS = 1e-5
"""Added to the sum of weights."""
_MIN_CHANGE = 1.0
"""Added to the change summed over a glimpse: particles that change less are hardly centered."""


class GlimpseDecoder(nn.Module):
    """Decode features into glimpses."""

    def __init__(self, config: DLPConfig) -> None:
        """Build from `config`."""
        super().__init__()
        side, maps = config.decoder_side, config.decoder_maps
        self._map_shape = (maps, side, side)
        self.trunk = nn.Sequential(
            nn.Linear(config.feature_dim, config.decoder_hidden),
            nn.ReLU(),
            nn.Linear(config.decoder_hidden, maps * side**2),
            nn.ReLU(),
        )
        layers: list[nn.Module] = []
        for index, outputs in enumerate(config.decoder_convs):
            upsample = index < config.num_upsamplings
            layers.append(ConvBlock(maps, outputs, config, upsample=upsample))
            maps = outputs
        kernel = config.decoder_kernel
        self.convs = nn.Sequential(*layers, nn.Conv2d(maps, 4, kernel, padding=kernel // 2))
        self.color_skip = nn.Linear(config.feature_dim, 3) if config.color_skip_gain else None

    def forward(self, features: Tensor) -> Tensor:
        """Map features (N, K, l) to glimpses (N, K, 4, S, S): alpha, red, green, blue."""
        maps = self.trunk(features.flatten(0, 1)).unflatten(1, self._map_shape)
        logits = self.convs(maps)  # (NK, 4, S, S)
        if self.color_skip is not None:
            alpha, color = logits[:, :1], logits[:, 1:]
            color = color + self.color_skip(features.flatten(0, 1))[..., None, None]
            logits = torch.cat((alpha, color), dim=1)
        return logits.sigmoid().unflatten(0, features.shape[:2])


def composite_terms(alpha: Tensor, color: Tensor, depth: Tensor, opacity: Tensor) -> Tensor:
    """Terms (..., K, 5, h, w) whose sums over particles make the image.

    Args:
        alpha: (..., K, 1, h, w).
        color: (..., K, 3, h, w).
        depth: (..., K).
        opacity: (..., K).
    """
    front = (-depth).sigmoid()[..., None, None, None]
    opacity = opacity[..., None, None, None]
    weight = opacity * front * alpha
    strength = weight * opacity * alpha
    return torch.cat((weight, strength, strength * color), dim=-3)


def composite(sums: Tensor, background: Tensor) -> Tensor:
    """Image from the summed terms (N, 5, H, W) over the background (N, 3, H, W)."""
    weights, strength, color = sums[:, :1] + EPS, sums[:, 1:2], sums[:, 2:]
    return background * (1 - strength / weights) + color / weights


def render(
    glimpses: Tensor,
    particles: Particles,
    background: Tensor,
    config: DLPConfig,
    jitter: float = 0.0,
    rng: torch.Generator | None = None,
) -> Tensor:
    """Image (N, 3, H, W) of particles (N, K, D) with decoded `glimpses` (N, K, 4, S, S).

    Args:
        glimpses: Output of the glimpse decoder.
        particles: Position, size, depth and opacity of each glimpse.
        background: Image behind the particles, (N, 3, H, W).
        config: Its `compositing` says whether alpha is squared on canvases or in glimpses.
        jitter: Standard deviation of the noise on alpha.
        rng: Source of that noise.
    """
    size = (config.image_size, config.image_size)
    exact = config.compositing == "canvas"
    if exact:
        glimpses = paste(glimpses, particles.position, particles.boxes, size)
    alpha, color = glimpses[:, :, :1], glimpses[:, :, 1:]
    if jitter:
        noise = torch.empty_like(alpha).normal_(generator=rng)
        alpha = (alpha + jitter * noise).clamp(0, 1)
    terms = composite_terms(alpha, color, particles.depth, particles.opacity)
    if exact:
        return composite(terms.sum(1), background)
    return composite(paste_sum(terms, particles.position, particles.boxes, size), background)


def centering_error(change: Tensor, particles: Particles, size: int) -> Tensor:
    """Squared pixels (N, K) from each position to the center of mass of what its particle changes.

    Gradients reach the position only, weighted by opacity: a position moves to the middle of what
    its particle adds to the background, whatever the proposal was and however large the box is.

    Args:
        change: How much each pixel of the glimpses differs from the background, (N, K, S, S).
        particles: The particles, (N, K, D).
        size: Side of the image in pixels.
    """
    with torch.no_grad():
        steps = torch.linspace(-1, 1, change.shape[-1], device=change.device, dtype=change.dtype)
        mass = change.sum((-2, -1)) + _MIN_CHANGE
        moment = torch.stack((change.sum(-1) @ steps, change.sum(-2) @ steps), dim=-1)  # (N, K, 2)
        target = particles.position + moment / mass[..., None] * particles.boxes
        weight = particles.opacity
    gap = (particles.position - target) * (size - 1) / 2
    return weight * gap.square().sum(-1)
