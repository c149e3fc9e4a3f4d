"""The background behind particles: one latent and a convolutional decoder, or learned images."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from jostle.core.errors import require
from jostle.encoders.blocks import ConvBlock, conv_output_size, conv_stack, mlp
from jostle.encoders.distributions import Normal
from jostle.encoders.dlp_config import DLPConfig

LATENT_DIM = 1
"""Width of a background's latent; a wider one would also explain what moves."""
_ENCODER_CONVS = ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1))
_ENCODER_HIDDEN = (256, 128)
_DECODER_HIDDEN = (64, 128, 256, 512)
_DECODER_SIDE = 8
_DECODER_UNNORMALIZED, _DECODER_LAST = 128, (64, 32)
"""Channels of the layer without a norm, and of the last layers."""


class BackgroundEncoder(nn.Module):
    """Encode images in which the particles are blacked out."""

    def __init__(self, config: DLPConfig) -> None:
        """Use as many feature maps as there are particles, as the released code does."""
        super().__init__()
        self.convs = conv_stack(_ENCODER_CONVS, config.num_particles, config, first_kernel=7)
        width = conv_output_size(_ENCODER_CONVS, config.num_particles, config.image_size)
        self.trunk = mlp((width, *_ENCODER_HIDDEN))
        self.head = nn.Linear(_ENCODER_HIDDEN[-1], 2 * LATENT_DIM)

    def forward(self, images: Tensor) -> Normal:
        """Map masked images (N, 3, H, W) to a posterior (N, LATENT_DIM)."""
        mean, logvar = self.head(self.trunk(self.convs(images).flatten(1))).chunk(2, dim=-1)
        return Normal.clamped(mean, logvar)


class BackgroundDecoder(nn.Module):
    """Decode latents into background images."""

    def __init__(self, config: DLPConfig) -> None:
        """Upsample from 8 pixels by factors of 2 to the size of the image."""
        super().__init__()
        maps = config.num_particles
        self._map_shape = (maps, _DECODER_SIDE, _DECODER_SIDE)
        self.trunk = mlp((LATENT_DIM, *_DECODER_HIDDEN, maps * _DECODER_SIDE**2))
        upsamplings = (config.image_size // _DECODER_SIDE).bit_length() - 1
        channels = [maps] * (upsamplings - 1) + [_DECODER_UNNORMALIZED, *_DECODER_LAST]
        layers: list[nn.Module] = []
        for index, (inputs, outputs) in enumerate(pairwise(channels)):
            norm = outputs != _DECODER_UNNORMALIZED
            upsample = index < upsamplings
            layers.append(ConvBlock(inputs, outputs, config, norm=norm, upsample=upsample))
        self.convs = nn.Sequential(*layers, nn.Conv2d(channels[-1], 3, 1))

    def forward(self, latents: Tensor) -> Tensor:
        """Map latents (N, LATENT_DIM) to images (N, 3, H, W) in [0, 1]."""
        return self.convs(self.trunk(latents).unflatten(1, self._map_shape)).sigmoid()


class BackgroundImages(nn.Module):
    """Learned background images per camera; each frame gets the image nearest to it.

    This is enough while cameras and backgrounds are static: whatever moves differs from all
    background images alike, so the background itself decides which one is nearest.
    """

    def __init__(self, config: DLPConfig) -> None:
        """Start with gray images; `init_from_data` replaces them by medians."""
        super().__init__()
        size = config.image_size
        shape = (config.num_backgrounds, config.num_cameras, 3, size, size)
        self.logits = nn.Parameter(torch.zeros(shape))

    @torch.no_grad()
    def init_from_data(self, images: Tensor, background_ids: Tensor) -> None:
        """Set each background to the median of the images (B, V, 3, H, W) with its id (B,)."""
        self._check_views(images.shape[1])
        available, needed = len(self.logits), int(background_ids.max()) + 1
        require(
            needed <= available,
            f"This model has {available} background images per camera, but the frames show "
            f"{needed} backgrounds. Set num_backgrounds to {needed}.",
        )
        overall_median = images.median(0).values
        for number in range(available):
            own = images[background_ids == number]
            median = own.median(0).values if len(own) else overall_median
            self.logits[number].copy_(median.clamp(0.01, 0.99).logit())

    def forward(self, images: Tensor, views: int) -> Tensor:
        """Backgrounds (N, 3, H, W) of images (N, 3, H, W), camera after camera."""
        self._check_views(views)
        backgrounds = self.logits.sigmoid()  # (M, V, 3, H, W)
        if len(backgrounds) == 1:
            return backgrounds[0].repeat(len(images) // views, 1, 1, 1)
        scenes = images.view(-1, views, *images.shape[1:])  # (B, V, 3, H, W)
        with torch.no_grad():
            distances = torch.stack(
                [(scenes - background).abs().mean((2, 3, 4)) for background in backgrounds]
            )  # (M, B, V)
            nearest = distances.argmin(0).flatten()  # (N,)
        camera = torch.arange(views, device=images.device).repeat(len(images) // views)
        return backgrounds[nearest, camera]

    def _check_views(self, views: int) -> None:
        cameras = self.logits.shape[1]
        require(
            views == cameras,
            f"This model has background images of {cameras} cameras, but the frames have {views} "
            "views. Set num_cameras to the number of views, in the order of training.",
        )
