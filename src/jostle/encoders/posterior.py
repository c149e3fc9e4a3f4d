"""Particle encoder: proposals become particles by encoding glimpses.

N images, K particles, L proposals.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.particles import Particles
from jostle.encoders.blocks import GlimpseEncoder
from jostle.encoders.distributions import Beta, Normal
from jostle.encoders.dlp_config import DLPConfig
from jostle.encoders.glimpse import crop
from jostle.encoders.heatmap import HeatmapPrior
from jostle.encoders.prior import PatchPrior

_COLOR_GRID = 4
"""Side of the coarse glimpse that the color skip connection reads."""


class ParticlePosterior(NamedTuple):
    """Posterior of the attributes of N images' particles, without their appearance."""

    proposals: Tensor
    """Positions that the prior proposes, (N, L, 2)."""
    anchors: Tensor
    """Positions that offsets are relative to, (N, K, 2)."""
    offset: Normal
    """(N, K, 2)."""
    scale: Normal
    """Logits, (N, K, 2)."""
    depth: Normal
    """(N, K, 1)."""
    opacity: Beta
    """(N, K)."""
    heatmap: Tensor | None = None
    """The heatmap behind the proposals, (N, h, w) in logits, if the proposer trains one."""

    @property
    def position(self) -> Normal:
        """Positions of the particles, (N, K, 2)."""
        return Normal(self.anchors + self.offset.mean, self.offset.logvar)


class AttributeEncoder(nn.Module):
    """Position, scale, depth and opacity of what a glimpse shows."""

    def __init__(self, config: DLPConfig) -> None:
        """Build from `config`; with `zero_init_heads` the head starts at zero."""
        super().__init__()
        self.config = config
        self.glimpse_encoder = GlimpseEncoder(config, 10 + (1 if config.bounded_beta else 2))
        self._base_scale = logit(config.glimpse_ratio) if config.relative_scale else 0.0
        if config.zero_init_heads:
            head = self.glimpse_encoder.head
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)
            with torch.no_grad():
                head.bias[2:4] = 2 * math.log(config.offset_init_std)
                head.bias[6:8] = 2 * math.log(config.scale_init_std)

    def forward(
        self, images: Tensor, position: Tensor, box: Tensor
    ) -> tuple[Normal, Normal, Tensor]:
        """Encode glimpses at `position` (N, K, 2) of size `box` (N, K, 2).

        Returns:
            Offset, scale, and the raw outputs for depth and opacity (N, K, 3 or 4).
        """
        with torch.no_grad():  # no gradient through the crop: neither to images nor to positions
            glimpses = crop(images, position, box, self.config.glimpse_size, self.config.border)
        outputs = self.glimpse_encoder(glimpses)  # (N, K, 11 or 12)
        offset, offset_logvar, scale, scale_logvar = outputs[..., :8].chunk(4, dim=-1)
        mean, rest = self.config.max_offset * offset.tanh(), outputs[..., 8:]
        return (
            Normal.clamped(mean, offset_logvar),
            Normal.clamped(scale + self._base_scale, scale_logvar),
            rest,
        )


class ParticleEncoder(nn.Module):
    """From images to particles: propose positions, encode attributes, encode appearance."""

    def __init__(self, config: DLPConfig) -> None:
        """Build from `config`."""
        super().__init__()
        self.config = config
        features = config.feature_dim
        self.prior = HeatmapPrior(config) if config.proposer == "heatmap" else PatchPrior(config)
        self.attributes = AttributeEncoder(config)
        self.appearance = GlimpseEncoder(config, 2 * features)
        color_inputs = 3 * _COLOR_GRID**2
        self.color_skip = nn.Linear(color_inputs, features) if config.color_skip_gain else None
        head = self.appearance.head
        with torch.no_grad():
            head.weight[:features] *= config.feature_init_gain
            if config.zero_init_heads:
                head.weight[features:] = 0.0
                head.bias[:] = 0.0
                head.bias[features:] = 2 * math.log(config.feature_init_std)

    def posterior(
        self, images: Tensor, jitter: float = 0.0, rng: torch.Generator | None = None
    ) -> ParticlePosterior:
        """Infer the particles of images (N, 3, H, W).

        Args:
            images: The images.
            jitter: Largest random shift of the proposals.
            rng: Source of that shift.
        """
        # Proposals
        proposals, heatmap = self.prior(images)  # (N, L, 2)
        anchors = proposals[:, : self.config.num_particles]  # (N, K, 2)
        if jitter:
            anchors = anchors + torch.empty_like(anchors).uniform_(-jitter, jitter, generator=rng)

        # Attributes, once or twice
        box = torch.full_like(anchors, self.config.glimpse_ratio)
        offset, scale, rest = self.attributes(images, anchors, box)
        if self.config.attribute_passes == 2:
            anchors = anchors + offset.mean
            offset, scale, rest = self.attributes(images, anchors, scale.mean.sigmoid())

        # Depth and opacity
        depth = Normal.clamped(rest[..., 0:1], rest[..., 1:2])
        to_beta = Beta.from_logit if self.config.bounded_beta else Beta.from_log_concentrations
        opacity = to_beta(rest[..., 2:])
        return ParticlePosterior(proposals, anchors, offset, scale, depth, opacity, heatmap)

    def encode_appearance(
        self, images: Tensor, position: Tensor, scale: Tensor
    ) -> tuple[Normal, Tensor]:
        """Features of what is at positions (N, K, 2), and the glimpses (N, K, 3, S, S)."""
        config = self.config
        glimpses = crop(images, position, scale.sigmoid(), config.glimpse_size, config.border)
        mean, logvar = self.appearance(glimpses).chunk(2, dim=-1)
        if self.color_skip is not None:
            flat = (glimpses - 0.5).flatten(0, 1)  # (NK, 3, S, S)
            colors = _average_cells(flat, config.glimpse_size).flatten(1)  # (NK, 3 * 16)
            skip = self.color_skip(colors).view_as(mean)
            mean = mean + config.color_skip_gain * skip
        return Normal.clamped(mean, logvar), glimpses

    def particles(self, images: Tensor, min_opacity: float = 0.0) -> Particles:
        """Posterior means of the particles (N, K, D); deterministic.

        The appearance of particles with an opacity below `min_opacity` is not encoded: their
        features are zero.
        """
        posterior = self.posterior(images)
        position, scale = posterior.position.mean, posterior.scale.mean
        depth, opacity = posterior.depth.mean[..., 0], posterior.opacity.mean
        features = self._features(images, position, scale, opacity >= min_opacity)
        return Particles.from_parts(position, scale, depth, features, opacity)

    def _features(
        self, images: Tensor, position: Tensor, scale: Tensor, selected: Tensor
    ) -> Tensor:
        """Features (N, K, l) of the particles that are selected (N, K), zeros for the others."""
        # Other devices do not wait for the number of selected particles, and an exported network
        # cannot depend on it: all are encoded there
        if selected.device.type != "cpu" or torch.onnx.is_in_onnx_export():
            return self.encode_appearance(images, position, scale)[0].mean * selected[..., None]
        most = max(int(selected.sum(1).max()), 1)
        if most == selected.shape[1]:
            return self.encode_appearance(images, position, scale)[0].mean
        index = selected.int().argsort(dim=1, descending=True, stable=True)[:, :most, None]
        pair = index.expand(-1, -1, 2)  # (N, most, 2)
        position, scale = position.gather(1, pair), scale.gather(1, pair)
        encoded = self.encode_appearance(images, position, scale)[0].mean  # (N, most, l)
        features = encoded.new_zeros(*selected.shape, encoded.shape[-1])
        features.scatter_(1, index.expand_as(encoded), encoded)
        return features * selected[..., None]


def _average_cells(glimpses: Tensor, side: int) -> Tensor:
    """Average glimpses (N, C, side, side) over the cells of a coarse grid: (N, C, 4, 4)."""
    if side % _COLOR_GRID:
        return F.adaptive_avg_pool2d(glimpses, _COLOR_GRID)
    return F.avg_pool2d(glimpses, side // _COLOR_GRID)  # ONNX has no adaptive pooling


def logit(probability: float) -> float:
    """Inverse of the sigmoid."""
    return math.log(probability / (1 - probability))
