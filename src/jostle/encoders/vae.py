"""A variational autoencoder: one vector per view, the unstructured baseline for particles.

The original adds a perceptual distance by a pretrained network, which is used if its weights are
given. Otherwise differences of neighboring pixels on a pyramid replace it, and moving objects can
be given more weight.
"""

from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.entities import FEATURES, Entities, EntityLayout
from jostle.encoders.distributions import Normal
from jostle.encoders.foreground import expand_median, median_frames, pixel_weights
from jostle.encoders.images import downscale, to_frames, to_images, upscale
from jostle.encoders.lpips import LPIPS
from jostle.encoders.vae_config import VAEConfig


class Residual(nn.Module):
    """Norm, SiLU, convolution, twice, with a residual connection."""

    def __init__(self, inputs: int, outputs: int, groups: int) -> None:
        """Map `inputs` channels to `outputs`."""
        super().__init__()
        self.norm1, self.norm2 = (_norm(groups, inputs), _norm(groups, outputs))
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, inputs, h, w) to (N, outputs, h, w)."""
        y = self.conv1(F.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(y)))


class PixelAttention(nn.Module):
    """Self-attention with one head over all pixels, with a residual connection."""

    def __init__(self, channels: int, groups: int) -> None:
        """Keep the number of channels."""
        super().__init__()
        self.norm = _norm(groups, channels)
        self.query, self.key, self.value, self.out = (
            nn.Conv2d(channels, channels, 1) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, c, h, w) to the same shape."""
        y = self.norm(x)
        query, key, value = (
            layer(y).flatten(2).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )  # (N, hw, c) each
        attended = F.scaled_dot_product_attention(query, key, value)
        return x + self.out(attended.transpose(1, 2).reshape(x.shape))


class Downsample(nn.Module):
    """Halve the size: pad one row and column at the end, then a convolution of stride 2."""

    def __init__(self, channels: int) -> None:
        """Keep the number of channels."""
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, c, h, w) to (N, c, h/2, w/2)."""
        return self.conv(F.pad(x, (0, 1, 0, 1)))


def _norm(groups: int, channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(groups, channels, eps=1e-6)


def _level(inputs: int, outputs: int, side: int, blocks: int, config: VAEConfig) -> list[nn.Module]:
    """Residual blocks of one size, with attention if the config says so."""
    layers: list[nn.Module] = []
    for index in range(blocks):
        layers.append(Residual(outputs if index else inputs, outputs, config.norm_groups))
        if side in config.attention_sizes:
            layers.append(PixelAttention(outputs, config.norm_groups))
    return layers


def _bottleneck(channels: int, groups: int) -> list[nn.Module]:
    """Blocks at the smallest size: residual, attention, residual."""
    first, second = (Residual(channels, channels, groups) for _ in range(2))
    return [first, PixelAttention(channels, groups), second]


def _conv_encoder(config: VAEConfig) -> nn.Sequential:
    widths = [config.base_channels * m for m in config.channel_multipliers]
    layers: list[nn.Module] = [nn.Conv2d(3, config.base_channels, 3, padding=1)]
    side, groups = config.input_size, config.norm_groups
    for index, (inputs, outputs) in enumerate(pairwise([config.base_channels, *widths])):
        layers += _level(inputs, outputs, side, config.blocks_per_level, config)
        if index + 1 < len(widths):
            layers.append(Downsample(outputs))
            side //= 2
    layers += [*_bottleneck(widths[-1], groups), _norm(groups, widths[-1]), nn.SiLU()]
    return nn.Sequential(*layers, nn.Conv2d(widths[-1], config.bottleneck_channels, 3, padding=1))


def _conv_decoder(config: VAEConfig) -> nn.Sequential:
    widths = [config.base_channels * m for m in reversed(config.channel_multipliers)]
    layers: list[nn.Module] = [nn.Conv2d(config.bottleneck_channels, widths[0], 3, padding=1)]
    side, groups = config.bottleneck_size, config.norm_groups
    layers += _bottleneck(widths[0], groups)
    for index, (inputs, outputs) in enumerate(pairwise([widths[0], *widths])):
        layers += _level(inputs, outputs, side, config.blocks_per_level + 1, config)
        if index + 1 < len(widths):
            layers += [nn.Upsample(scale_factor=2), nn.Conv2d(outputs, outputs, 3, padding=1)]
            side *= 2
    layers += [_norm(groups, widths[-1]), nn.SiLU()]
    return nn.Sequential(*layers, nn.Conv2d(widths[-1], 3, 3, padding=1))


class VAE(nn.Module):
    """The autoencoder as an `Encoder`: one entity per view, a vector."""

    median: Tensor

    def __init__(self, config: VAEConfig) -> None:
        """Build from `config`; weights are drawn from torch's global generator."""
        super().__init__()
        self.config = config
        side, hidden, latent = config.input_size, config.hidden_dim, config.latent_dim
        flat = config.bottleneck_channels * config.bottleneck_size**2
        self.conv_encoder, self.conv_decoder = _conv_encoder(config), _conv_decoder(config)
        self.to_latent = nn.Sequential(
            nn.Linear(flat, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent)
        )
        self.from_latent = nn.Sequential(
            nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, flat)
        )
        self._lpips: tuple[LPIPS, ...] = ()  # in a tuple, so that its weights are not saved
        self.register_buffer("median", torch.zeros(config.num_cameras, 3, side, side))

    @property
    def layout(self) -> EntityLayout:
        """Which columns of an entity are what."""
        return EntityLayout(((FEATURES, self.config.latent_dim),))

    @property
    def shape(self) -> tuple[int, int]:
        """Entities per view and width of an entity."""
        return 1, self.config.latent_dim

    @torch.no_grad()
    def encode(self, frames: Tensor) -> Entities:
        """One entity per view of frames (B, V, H, W, 3) uint8: (B, V, 1, D)."""
        mean = self._posterior(self._images(frames)).mean
        return Entities.all_visible(mean.view(*frames.shape[:2], 1, -1))

    @torch.no_grad()
    def reconstruct(self, frames: Tensor) -> Tensor:
        """Reconstruct frames (B, V, H, W, 3) uint8 from their vectors."""
        views = frames.shape[1]
        mean = self._posterior(self._images(frames)).mean
        return to_frames(upscale(self._decode(mean, views), self.config.image_size), views)

    @torch.no_grad()
    def init_from_data(self, frames: Tensor, background_ids: Tensor | None = None) -> None:
        """Store the median of frames (B, V, H, W, 3) before training, if the config needs it."""
        del background_ids
        if self.config.foreground_weight or self.config.subtract_background:
            images, views = self._images(frames), frames.shape[1]
            self.median.copy_(median_frames(images, views, self.config.num_cameras))

    def loss(
        self, frames: Tensor, step: int, rng: torch.Generator | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Training loss, the same at every `step`, and its terms for the log."""
        images, views = self._images(frames), frames.shape[1]
        posterior = self._posterior(images)
        decoded = self._decode(posterior.sample(rng), views)

        # Reconstruction and KL divergence
        error = 2 * (images - decoded).abs()
        if self.config.foreground_weight:
            median = expand_median(self.median, images, views)
            error = error * pixel_weights(images, median, self.config.foreground_weight)
        terms = {"reconstruction": error.mean(), "kl": posterior.kl_divergence(0.0, 1.0).mean()}
        total = terms["reconstruction"] + self.config.beta * terms["kl"]

        # Perceptual distance, or edges instead
        if self.config.lpips_file:
            terms["lpips"] = self._perceptual_distance(images, decoded)
            total = total + terms["lpips"]
        else:
            terms["edges"] = 2 * edge_distance(images, decoded)
            total = total + self.config.edge_weight * terms["edges"]
        return total, {name: value.detach() for name, value in {"loss": total, **terms}.items()}

    def _perceptual_distance(self, images: Tensor, decoded: Tensor) -> Tensor:
        if not self._lpips:
            self._lpips = (LPIPS.from_file(Path(self.config.lpips_file)).to(images.device),)
        return self._lpips[0](images, decoded)

    def _images(self, frames: Tensor) -> Tensor:
        return downscale(to_images(frames, self.config.image_size), self.config.downscale)

    def _posterior(self, images: Tensor) -> Normal:
        flat = self.conv_encoder(2 * images - 1).flatten(1)
        mean, logvar = self.to_latent(flat).float().chunk(2, dim=-1)
        return Normal.clamped(mean, logvar)

    def _decode(self, latents: Tensor, views: int) -> Tensor:
        """Images (N, 3, h, w) of latents (N, D)."""
        side, channels = self.config.bottleneck_size, self.config.bottleneck_channels
        maps = self.from_latent(latents).view(-1, channels, side, side)
        decoded = self.conv_decoder(maps).float()
        if self.config.subtract_background:
            return expand_median(self.median, decoded, views) + decoded / 2
        return (decoded + 1) / 2


def edge_distance(images: Tensor, others: Tensor, sizes: int = 3) -> Tensor:
    """Mean difference of the gradients of images (N, C, H, W), over `sizes` sizes."""
    gap, total = images - others, images.new_zeros(())
    for _ in range(sizes):
        total = total + gap.diff(dim=-1).abs().mean() + gap.diff(dim=-2).abs().mean()
        gap = F.avg_pool2d(gap, 2)
    return total / sizes
