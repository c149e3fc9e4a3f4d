"""A straightforward version of the particle encoder, as a reference for its speed.

It uses the same weights, with one copy of the image and one sampling grid per glimpse, all heads in
every pass, and the background encoder, whose output encoding does not need. The particles are the
same.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from jostle.core.particles import Particles
from jostle.encoders.distributions import Beta, Normal
from jostle.encoders.dlp import DLP
from jostle.encoders.images import to_images


class PlainEncoder:
    """Particles of a model, without its optimizations."""

    def __init__(self, model: DLP) -> None:
        """Use the weights of `model`."""
        self._model, self._config = model, model.config

    @torch.no_grad()
    def __call__(self, frames: Tensor) -> Particles:
        """Particles (B, V, K, D) of frames (B, V, H, W, 3) uint8."""
        config, encoder = self._config, self._model.encoder
        images = to_images(frames, config.image_size)  # (N, 3, H, W)
        anchors = encoder.prior(images).positions[:, : config.num_particles]  # (N, K, 2)
        box = torch.full_like(anchors, config.glimpse_ratio)
        for index in range(config.attribute_passes):
            glimpses = self._crop(images, anchors, box)
            offset, scale, depth, beta = self._attributes(glimpses)
            if index + 1 < config.attribute_passes:
                anchors, box = anchors + offset.mean, scale.mean.sigmoid()
        position = anchors + offset.mean
        glimpses = self._crop(images, position, scale.mean.sigmoid())
        features = Normal(*encoder.appearance(glimpses).chunk(2, dim=-1))
        if encoder.color_skip is not None:
            coarse = F.adaptive_avg_pool2d(glimpses.flatten(0, 1) - 0.5, 4).flatten(1)
            skip = config.color_skip_gain * encoder.color_skip(coarse)
            features = Normal(features.mean + skip.view_as(features.mean), features.logvar)
        if self._model.background_encoder is not None:
            self._model.background_encoder(images * (1 - self._mask(position, beta.mean)))
        parts = (position, scale.mean, depth.mean[..., 0], features.mean, beta.mean)
        values = Particles.from_parts(*parts).values
        return Particles(values.view(*frames.shape[:2], *values.shape[1:]))

    def _attributes(self, glimpses: Tensor) -> tuple[Normal, Normal, Normal, Beta]:
        outputs = self._model.encoder.attributes.glimpse_encoder(glimpses)
        offset, offset_logvar, scale, scale_logvar = outputs[..., :8].chunk(4, dim=-1)
        bounded = self._config.bounded_beta
        to_beta = Beta.from_logit if bounded else Beta.from_log_concentrations
        base_scale: Tensor | float = 0.0
        if self._config.relative_scale:
            base_scale = torch.tensor(self._config.glimpse_ratio).logit()
        return (
            Normal(self._config.max_offset * offset.tanh(), offset_logvar),
            Normal(scale + base_scale, scale_logvar),
            Normal(outputs[..., 8:9], outputs[..., 9:10]),
            to_beta(outputs[..., 10:]),
        )

    def _crop(self, images: Tensor, position: Tensor, box: Tensor) -> Tensor:
        side, count = self._config.glimpse_size, position.shape[1]
        copies = images[:, None].repeat(1, count, 1, 1, 1).flatten(0, 1)  # (NK, 3, H, W)
        matrix = images.new_zeros(len(copies), 2, 3)  # affine maps from glimpse to image, (x, y)
        position, box = position.flatten(0, 1), box.flatten(0, 1)
        matrix[:, 0, 0], matrix[:, 0, 2] = box[:, 1], position[:, 1]
        matrix[:, 1, 1], matrix[:, 1, 2] = box[:, 0], position[:, 0]
        grid = F.affine_grid(matrix, [len(copies), 3, side, side], align_corners=True)
        border = "zeros" if self._config.border == "zeros" else "border"
        glimpses = F.grid_sample(copies, grid, padding_mode=border, align_corners=True)
        return glimpses.view(len(images), count, 3, side, side)

    def _mask(self, position: Tensor, weight: Tensor) -> Tensor:
        size, count = self._config.image_size, position.shape[1]
        flat, box = position.flatten(0, 1), self._config.glimpse_ratio
        matrix = flat.new_zeros(len(flat), 2, 3)
        matrix[:, 0, 0] = matrix[:, 1, 1] = 1 / box
        matrix[:, 0, 2], matrix[:, 1, 2] = -flat[:, 1] / box, -flat[:, 0] / box
        grid = F.affine_grid(matrix, [len(flat), 1, size, size], align_corners=True)
        side = self._config.glimpse_size
        square = flat.new_ones(len(flat), 1, side, side)
        boxes = F.grid_sample(square, grid, mode="nearest", align_corners=True)
        boxes = boxes.view(len(position), count, 1, size, size) * weight[..., None, None, None]
        return boxes.sum(1).clamp(0, 1)
