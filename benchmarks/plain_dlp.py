"""What the particle encoder is measured against: the same weights, run as plainly as can be.

One copy of the image and one grid for every glimpse, every pass computes every head, beliefs are
spread out in full, and the background encoder runs though nobody asked. The particles are the same.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from jostle.core.particles import Particles
from jostle.particles.beliefs import Beta, Normal
from jostle.particles.dlp import DLP
from jostle.particles.frames import images_of


class PlainEncoder:
    """Particles of a model, without any of its shortcuts."""

    def __init__(self, model: DLP) -> None:
        """Use the weights of `model`."""
        self._model, self._config = model, model.config

    @torch.no_grad()
    def __call__(self, frames: Tensor) -> Particles:
        """Particles (B, V, K, D) of frames (B, V, H, W, 3) uint8."""
        config, encoder = self._config, self._model.encoder
        images = images_of(frames, config.image)  # (N, 3, H, W)
        anchors = encoder.prior(images).places[:, : config.particles]  # (N, K, 2)
        box = torch.full_like(anchors, config.anchor)
        for index in range(config.passes):
            glimpses = self._crop(images, anchors, box)
            offset, scale, depth, beta = self._attributes(glimpses)
            if index + 1 < config.passes:
                anchors, box = anchors + offset.mean, scale.mean.sigmoid()
        place = anchors + offset.mean
        glimpses = self._crop(images, place, scale.mean.sigmoid())
        features = Normal(*encoder.appearance(glimpses).chunk(2, dim=-1))
        if encoder.tint is not None:
            coarse = F.adaptive_avg_pool2d(glimpses.flatten(0, 1) - 0.5, 4).flatten(1)
            tint = config.tint * encoder.tint(coarse)
            features = Normal(features.mean + tint.view_as(features.mean), features.logvar)
        if self._model.background_encoder is not None:
            self._model.background_encoder(images * (1 - self._mask(place, beta.mean)))
        parts = (place, scale.mean, depth.mean[..., 0], features.mean, beta.mean)
        values = Particles.join(*parts).values
        return Particles(values.view(*frames.shape[:2], *values.shape[1:]))

    def _attributes(self, glimpses: Tensor) -> tuple[Normal, Normal, Normal, Beta]:
        answers = self._model.encoder.attributes.reader(glimpses)
        offset, spread, scale, blur = answers[..., :8].chunk(4, dim=-1)
        logits = answers[..., 10:]
        origin = torch.tensor(self._config.anchor).logit() if self._config.scale_delta else 0.0
        return (
            Normal(self._config.offset_range * offset.tanh(), spread),
            Normal(scale + origin, blur),
            Normal(answers[..., 8:9], answers[..., 9:10]),
            Beta.bounded(logits) if self._config.bounded_beta else Beta.free(logits),
        )

    def _crop(self, images: Tensor, place: Tensor, box: Tensor) -> Tensor:
        side, count = self._config.glimpse, place.shape[1]
        copies = images[:, None].repeat(1, count, 1, 1, 1).flatten(0, 1)  # (NK, 3, H, W)
        matrix = images.new_zeros(len(copies), 2, 3)  # (x, y) of what each pixel reads
        place, box = place.flatten(0, 1), box.flatten(0, 1)
        matrix[:, 0, 0], matrix[:, 0, 2] = box[:, 1], place[:, 1]
        matrix[:, 1, 1], matrix[:, 1, 2] = box[:, 0], place[:, 0]
        grid = F.affine_grid(matrix, [len(copies), 3, side, side], align_corners=True)
        border = "zeros" if self._config.border == "zeros" else "border"
        cut = F.grid_sample(copies, grid, padding_mode=border, align_corners=True)
        return cut.view(len(images), count, 3, side, side)

    def _mask(self, place: Tensor, weight: Tensor) -> Tensor:
        size, count = self._config.image, place.shape[1]
        flat, box = place.flatten(0, 1), self._config.anchor
        matrix = flat.new_zeros(len(flat), 2, 3)
        matrix[:, 0, 0] = matrix[:, 1, 1] = 1 / box
        matrix[:, 0, 2], matrix[:, 1, 2] = -flat[:, 1] / box, -flat[:, 0] / box
        grid = F.affine_grid(matrix, [len(flat), 1, size, size], align_corners=True)
        side = self._config.glimpse
        square = flat.new_ones(len(flat), 1, side, side)
        laid = F.grid_sample(square, grid, mode="nearest", align_corners=True)
        laid = laid.view(len(place), count, 1, size, size) * weight[..., None, None, None]
        return laid.sum(1).clamp(0, 1)
