"""What is there: proposals become particles by looking at glimpses.

N images, K particles.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.particles import Particles
from jostle.particles.beliefs import Beta, Normal
from jostle.particles.blocks import GlimpseReader
from jostle.particles.config import DLPConfig
from jostle.particles.field import FieldPrior
from jostle.particles.glimpse import crop
from jostle.particles.prior import PatchPrior

_TINTS = 4
"""Side of the coarse glimpse that `tint` reads colors from."""


class Found(NamedTuple):
    """What is believed of the particles of N images, but for their looks."""

    proposals: Tensor
    """Places that the prior names, (N, L, 2)."""
    anchors: Tensor
    """Places that offsets start from, (N, K, 2)."""
    offset: Normal
    """(N, K, 2)."""
    scale: Normal
    """Logits, (N, K, 2)."""
    depth: Normal
    """(N, K, 1)."""
    transparency: Beta
    """(N, K)."""
    heat: Tensor | None = None
    """The map that proposals come from, (N, h, w) in logits, if there is one to teach."""

    @property
    def place(self) -> Normal:
        """Where the particles are, (N, K, 2)."""
        return Normal(self.anchors + self.offset.mean, self.offset.logvar)


class AttributeEncoder(nn.Module):
    """Place, scale, depth and transparency of what a glimpse shows."""

    def __init__(self, config: DLPConfig) -> None:
        """Start at zero where the configuration says so."""
        super().__init__()
        self.config = config
        self.reader = GlimpseReader(config, 10 + (1 if config.bounded_beta else 2))
        self._scale_origin = logit(config.anchor) if config.scale_delta else 0.0
        if config.zero_heads:
            head = self.reader.head
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)
            with torch.no_grad():
                head.bias[2:4] = 2 * math.log(config.offset_start)
                head.bias[6:8] = 2 * math.log(config.scale_start)

    def forward(self, images: Tensor, place: Tensor, box: Tensor) -> tuple[Normal, Normal, Tensor]:
        """Look at `place` (N, K, 2): offset and scale, and the raw rest (N, K, 3 or 4)."""
        with torch.no_grad():  # images are given, and glimpses are not moved by what they show
            glimpses = crop(images, place, box, self.config.glimpse, self.config.border)
        answers = self.reader(glimpses)  # (N, K, 11 or 12)
        offset, spread, scale, blur = answers[..., :8].chunk(4, dim=-1)
        mean, rest = self.config.offset_range * offset.tanh(), answers[..., 8:]
        return Normal.calm(mean, spread), Normal.calm(scale + self._scale_origin, blur), rest


class ParticleEncoder(nn.Module):
    """From images to beliefs: propose, look, look again, and describe."""

    def __init__(self, config: DLPConfig) -> None:
        """Build by `config`."""
        super().__init__()
        self.config = config
        self.prior = FieldPrior(config) if config.proposer == "field" else PatchPrior(config)
        self.attributes = AttributeEncoder(config)
        self.appearance = GlimpseReader(config, 2 * config.features)
        self.tint = nn.Linear(3 * _TINTS**2, config.features) if config.tint else None
        head = self.appearance.head
        with torch.no_grad():
            head.weight[: config.features] *= config.feature_gain
            if config.zero_heads:
                head.weight[config.features :] = 0.0
                head.bias[:] = 0.0
                head.bias[config.features :] = 2 * math.log(config.feature_start)

    def find(self, images: Tensor, shake: float = 0.0, rng: torch.Generator | None = None) -> Found:
        """Find particles in images (N, 3, H, W); `shake` moves where to look first, up to that."""
        proposals, heat = self.prior(images)  # (N, L, 2)
        anchors = proposals[:, : self.config.particles]  # (N, K, 2)
        if shake:
            anchors = anchors + torch.empty_like(anchors).uniform_(-shake, shake, generator=rng)
        box = torch.full_like(anchors, self.config.anchor)
        offset, scale, rest = self.attributes(images, anchors, box)
        if self.config.passes == 2:
            anchors = anchors + offset.mean
            offset, scale, rest = self.attributes(images, anchors, scale.mean.sigmoid())
        depth = Normal.calm(rest[..., 0:1], rest[..., 1:2])
        logits = rest[..., 2:]
        transparency = Beta.bounded(logits) if self.config.bounded_beta else Beta.free(logits)
        return Found(proposals, anchors, offset, scale, depth, transparency, heat)

    def look(self, images: Tensor, place: Tensor, scale: Tensor) -> tuple[Normal, Tensor]:
        """Describe what is at places (N, K, 2): features, and the glimpses (N, K, 3, S, S)."""
        glimpses = crop(images, place, scale.sigmoid(), self.config.glimpse, self.config.border)
        mean, logvar = self.appearance(glimpses).chunk(2, dim=-1)
        if self.tint is not None:
            flat = (glimpses - 0.5).flatten(0, 1)  # (NK, 3, S, S)
            colors = F.adaptive_avg_pool2d(flat, _TINTS).flatten(1)  # (NK, 3 * 16)
            mean = mean + self.config.tint * self.tint(colors).unflatten(0, mean.shape[:2])
        return Normal.calm(mean, logvar), glimpses

    def particles(self, images: Tensor, above: float = 0.0) -> Particles:
        """The most believed particles (N, K, D); the same for the same image.

        Those whose transparency is below `above` are not looked at closely: features are zero.
        """
        found = self.find(images)
        place, scale, on = found.place.mean, found.scale.mean, found.transparency.mean
        features = self._features(images, place, scale, on >= above)
        return Particles.join(place, scale, found.depth.mean[..., 0], features, on)

    def _features(self, images: Tensor, place: Tensor, scale: Tensor, wanted: Tensor) -> Tensor:
        """Features (N, K, l) of the particles that are wanted (N, K), zeros of the others."""
        most = max(int(wanted.sum(1).max()), 1)
        if most == wanted.shape[1]:
            return self.look(images, place, scale)[0].mean
        first = wanted.int().argsort(dim=1, descending=True, stable=True)[:, :most, None]
        both = first.expand(-1, -1, 2)  # (N, most, 2)
        looks = self.look(images, place.gather(1, both), scale.gather(1, both))[0].mean
        every = looks.new_zeros(*wanted.shape, looks.shape[-1])
        every.scatter_(1, first.expand_as(looks), looks)
        return every * wanted[..., None]


def logit(part: float) -> float:
    """Inverse of the sigmoid."""
    return math.log(part / (1 - part))
