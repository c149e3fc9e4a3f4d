"""What is behind the particles: one latent and a convolutional decoder, or learned images."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from jostle.core.errors import require
from jostle.particles.beliefs import Normal
from jostle.particles.blocks import Block, convolutions, convolved, mlp
from jostle.particles.config import DLPConfig

LATENTS = 1
"""Numbers that describe a background: with more, it would swallow what moves."""
_ENCODER = ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1))
_ENCODER_HIDDEN = (256, 128)
_DECODER_HIDDEN = (64, 128, 256, 512)
_DECODER_SIDE = 8
_DECODER_WIDE, _DECODER_LAST = 128, (64, 32)


class BackgroundEncoder(nn.Module):
    """Describe images in which the particles are blacked out."""

    def __init__(self, config: DLPConfig) -> None:
        """Use as many maps as there are particles, as the released code does."""
        super().__init__()
        self.convs = convolutions(_ENCODER, config.particles, config, first_kernel=7)
        width = convolved(_ENCODER, config.particles, config.image)
        self.trunk = mlp((width, *_ENCODER_HIDDEN))
        self.head = nn.Linear(_ENCODER_HIDDEN[-1], 2 * LATENTS)

    def forward(self, images: Tensor) -> Normal:
        """Map masked images (N, 3, H, W) to a belief (N, LATENTS)."""
        mean, logvar = self.head(self.trunk(self.convs(images).flatten(1))).chunk(2, dim=-1)
        return Normal.calm(mean, logvar)


class BackgroundDecoder(nn.Module):
    """Draw backgrounds from their latents."""

    def __init__(self, config: DLPConfig) -> None:
        """Double the size from 8 pixels on until it is that of the image."""
        super().__init__()
        maps = config.particles
        self._start = (maps, _DECODER_SIDE, _DECODER_SIDE)
        self.trunk = mlp((LATENTS, *_DECODER_HIDDEN, maps * _DECODER_SIDE**2))
        doublings = (config.image // _DECODER_SIDE).bit_length() - 1
        steps = [maps] * (doublings - 1) + [_DECODER_WIDE, *_DECODER_LAST]
        layers: list[nn.Module] = []
        for index, (inputs, outputs) in enumerate(pairwise(steps)):
            norm = outputs != _DECODER_WIDE
            double = index < doublings
            layers.append(Block(inputs, outputs, config, norm=norm, double=double))
        self.convs = nn.Sequential(*layers, nn.Conv2d(steps[-1], 3, 1))

    def forward(self, latents: Tensor) -> Tensor:
        """Map latents (N, LATENTS) to images (N, 3, H, W) in [0, 1]."""
        return self.convs(self.trunk(latents).unflatten(1, self._start)).sigmoid()


class BackgroundImages(nn.Module):
    """Learned images per camera, one for each scenery; a frame has the one that it is nearest to.

    Enough while cameras and scenery stand still: whatever moves differs from all of them alike, so
    that only the scenery itself decides.
    """

    def __init__(self, config: DLPConfig) -> None:
        """Start gray; `begin` sets something better."""
        super().__init__()
        shape = (config.sceneries, config.cameras, 3, config.image, config.image)
        self.logits = nn.Parameter(torch.zeros(shape))

    @torch.no_grad()
    def begin(self, images: Tensor, sceneries: Tensor) -> None:
        """Start from the median of images (B, V, 3, H, W) of each scenery, numbered by (B,)."""
        self._know(images.shape[1])
        known = len(self.logits)
        require(
            int(sceneries.max()) < known,
            f"This model has room for {known} sceneries, but the frames show "
            f"{int(sceneries.max()) + 1}. Set sceneries to that number.",
        )
        everything = images.median(0).values
        for number in range(known):
            own = images[sceneries == number]
            middle = own.median(0).values if len(own) else everything
            self.logits[number].copy_(middle.clamp(0.01, 0.99).logit())

    def forward(self, images: Tensor, views: int) -> Tensor:
        """Backgrounds (N, 3, H, W) of images (N, 3, H, W), camera after camera."""
        self._know(views)
        drawn = self.logits.sigmoid()  # (M, V, 3, H, W)
        if len(drawn) == 1:
            return drawn[0].repeat(len(images) // views, 1, 1, 1)
        seen = images.view(-1, views, *images.shape[1:])  # (B, V, 3, H, W)
        with torch.no_grad():
            gaps = torch.stack([(seen - one).abs().mean((2, 3, 4)) for one in drawn])  # (M, B, V)
            nearest = gaps.argmin(0).flatten()  # (N,)
        camera = torch.arange(views, device=images.device).repeat(len(images) // views)
        return drawn[nearest, camera]

    def _know(self, views: int) -> None:
        cameras = self.logits.shape[1]
        require(
            views == cameras,
            f"This model knows the backgrounds of {cameras} cameras, but the frames have {views} "
            "views. Set cameras to the number of views, in the order of training.",
        )
