"""A variational autoencoder: one vector per view, the unstructured rival of particles.

The original adds a perceptual distance by a pretrained network, which is used if its weights are at
hand. Otherwise differences of neighboring pixels on a pyramid stand in for it, and the surroundings
of what moves can be given more weight.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.entities import Entities
from jostle.core.errors import require
from jostle.particles.beliefs import Normal
from jostle.particles.foreground import beside, median_frames, pixel_weights
from jostle.particles.frames import enlarged, frames_of, images_of, shrunk
from jostle.particles.lpips import LPIPS


@dataclass(frozen=True, kw_only=True)
class VAEConfig:
    """Sizes and weights of the autoencoder; the defaults are those of the released code."""

    image: int = 128
    """Height and width of the frames, in pixels."""
    shrink: int = 1
    """Factor by which frames are averaged down before anything looks at them."""
    latents: int = 256
    """Width of the vector that describes an image."""
    base: int = 64
    """Channels at full size."""
    multipliers: tuple[int, ...] = (1, 1, 2, 2, 2, 4)
    """Channels at each size in units of `base`; the size halves from each to the next."""
    blocks: int = 2
    """Residual blocks at each size; the decoder has one more."""
    groups: int = 32
    """Groups of the group norms."""
    attend_at: tuple[int, ...] = (16,)
    """Sizes with self-attention behind every block."""
    maps: int = 64
    """Channels at the smallest size."""
    hidden: int = 512
    """Hidden layer between maps and latents."""
    beta: float = 1e-10
    """Weight of the divergence from N(0, 1)."""
    edges: float = 1.0
    """Weight of differences of neighboring pixels, on a pyramid of three sizes."""
    lpips: str = ""
    """Safetensors file with a VGG16 (and LPIPS calibration): the original's perceptual distance in
    place of `edges`. Needed for training only."""
    foreground: float = 0.0
    """How much more a pixel counts that is far from the median frame."""
    on_median: bool = False
    """Whether only the difference from the median frame is drawn; reading is not told of it."""
    cameras: int = 2
    """Views with a median frame of their own; for `foreground` and `on_median` only."""

    def __post_init__(self) -> None:
        """Refuse sizes that do not fit each other."""
        halvings = len(self.multipliers) - 1
        require(
            self.image % self.shrink == 0 and self.side % (1 << halvings) == 0,
            f"An image of {self.image} px shrunk {self.shrink} times cannot be halved "
            f"{halvings} times.",
        )
        require(
            self.base % self.groups == 0,
            f"base ({self.base}) must be a multiple of groups ({self.groups}).",
        )

    @property
    def side(self) -> int:
        """Side of the images that the model works on, in pixels."""
        return self.image // self.shrink

    @property
    def smallest(self) -> int:
        """Side of the smallest maps, in pixels."""
        return self.side >> (len(self.multipliers) - 1)


PAPER_VAE = VAEConfig()
"""The unstructured baseline of the paper."""
LITE_VAE = VAEConfig(
    shrink=4,
    base=16,
    multipliers=(1, 2, 4, 4),
    blocks=1,
    groups=8,
    attend_at=(),
    edges=0.0,
    foreground=60.0,
    on_median=True,
)
"""The same vector from images of a quarter of the side, at a hundredth of the compute."""


class Residual(nn.Module):
    """Norm, swish, convolution, twice, around a shortcut."""

    def __init__(self, inputs: int, outputs: int, groups: int) -> None:
        """Map `inputs` channels to `outputs`."""
        super().__init__()
        self.first, self.second = (_norm(groups, inputs), _norm(groups, outputs))
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, inputs, h, w) to (N, outputs, h, w)."""
        y = self.conv1(F.silu(self.first(x)))
        return self.shortcut(x) + self.conv2(F.silu(self.second(y)))


class Attend(nn.Module):
    """Self-attention with one head over all pixels, around a shortcut."""

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
        mixed = F.scaled_dot_product_attention(query, key, value)
        return x + self.out(mixed.transpose(1, 2).reshape(x.shape))


class Down(nn.Module):
    """Half the size: one row and column more at the end, then a convolution of stride 2."""

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
    layers: list[nn.Module] = []
    for index in range(blocks):
        layers.append(Residual(outputs if index else inputs, outputs, config.groups))
        if side in config.attend_at:
            layers.append(Attend(outputs, config.groups))
    return layers


def _middle(channels: int, groups: int) -> list[nn.Module]:
    residuals = (Residual(channels, channels, groups) for _ in range(2))
    first, second = residuals
    return [first, Attend(channels, groups), second]


def _convolutional_encoder(config: VAEConfig) -> nn.Sequential:
    widths = [config.base * m for m in config.multipliers]
    layers: list[nn.Module] = [nn.Conv2d(3, config.base, 3, padding=1)]
    side = config.side
    for index, (inputs, outputs) in enumerate(pairwise([config.base, *widths])):
        layers += _level(inputs, outputs, side, config.blocks, config)
        if index + 1 < len(widths):
            layers.append(Down(outputs))
            side //= 2
    layers += [*_middle(widths[-1], config.groups), _norm(config.groups, widths[-1]), nn.SiLU()]
    return nn.Sequential(*layers, nn.Conv2d(widths[-1], config.maps, 3, padding=1))


def _convolutional_decoder(config: VAEConfig) -> nn.Sequential:
    widths = [config.base * m for m in reversed(config.multipliers)]
    layers: list[nn.Module] = [nn.Conv2d(config.maps, widths[0], 3, padding=1)]
    layers += _middle(widths[0], config.groups)
    side = config.smallest
    for index, (inputs, outputs) in enumerate(pairwise([widths[0], *widths])):
        layers += _level(inputs, outputs, side, config.blocks + 1, config)
        if index + 1 < len(widths):
            layers += [nn.Upsample(scale_factor=2), nn.Conv2d(outputs, outputs, 3, padding=1)]
            side *= 2
    layers += [_norm(config.groups, widths[-1]), nn.SiLU()]
    return nn.Sequential(*layers, nn.Conv2d(widths[-1], 3, 3, padding=1))


class VAE(nn.Module):
    """The model, with the face of every other encoder."""

    median: Tensor

    def __init__(self, config: VAEConfig) -> None:
        """Build by `config`; weights come from torch's global stream."""
        super().__init__()
        self.config = config
        flat = config.maps * config.smallest**2
        self.convs, self.unconvs = _convolutional_encoder(config), _convolutional_decoder(config)
        self.read = nn.Sequential(
            nn.Linear(flat, config.hidden), nn.ReLU(), nn.Linear(config.hidden, 2 * config.latents)
        )
        self.write = nn.Sequential(
            nn.Linear(config.latents, config.hidden), nn.ReLU(), nn.Linear(config.hidden, flat)
        )
        self._judge: tuple[LPIPS, ...] = ()  # in a tuple: its weights are not ours to save
        self.register_buffer("median", torch.zeros(config.cameras, 3, config.side, config.side))

    @property
    def shape(self) -> tuple[int, int]:
        """Entities per view and width of an entity."""
        return 1, self.config.latents

    @torch.no_grad()
    def encode(self, frames: Tensor) -> Entities:
        """One entity per view of frames (B, V, H, W, 3) uint8: (B, V, 1, latents)."""
        mean = self._believe(self._images(frames)).mean
        return Entities.all_visible(mean.view(*frames.shape[:2], 1, -1))

    @torch.no_grad()
    def reconstruct(self, frames: Tensor) -> Tensor:
        """What the vectors of frames (B, V, H, W, 3) uint8 look like, in the same form."""
        mean = self._believe(self._images(frames)).mean
        drawn = enlarged(self._draw(mean, frames.shape[1]), self.config.image)
        return frames_of(drawn, frames.shape[1])

    @torch.no_grad()
    def begin(self, frames: Tensor, sceneries: Tensor | None = None) -> None:
        """Before training: remember the median of frames (B, V, H, W, 3), if it is needed."""
        del sceneries
        if self.config.foreground or self.config.on_median:
            images, views = self._images(frames), frames.shape[1]
            self.median.copy_(median_frames(images, views, self.config.cameras))

    def loss(
        self, frames: Tensor, step: int, rng: torch.Generator | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What training minimizes, and its parts for the log; the same at every `step`."""
        images, views = self._images(frames), frames.shape[1]
        belief = self._believe(images)
        drawn = self._draw(belief.sample(rng), views)
        gap = 2 * (images - drawn).abs()
        if self.config.foreground:
            median = beside(self.median, images, views)
            gap = gap * pixel_weights(images, median, self.config.foreground)
        terms = {"pixels": gap.mean(), "divergence": belief.divergence(0.0, 1.0).mean()}
        total = terms["pixels"] + self.config.beta * terms["divergence"]
        if self.config.lpips:
            terms["lpips"] = self._perceived(images, drawn)
            total = total + terms["lpips"]
        else:
            terms["edges"] = 2 * edge_distance(images, drawn)
            total = total + self.config.edges * terms["edges"]
        return total, {name: value.detach() for name, value in {"loss": total, **terms}.items()}

    def _perceived(self, images: Tensor, drawn: Tensor) -> Tensor:
        if not self._judge:
            self._judge = (LPIPS.read(Path(self.config.lpips)).to(images.device),)
        return self._judge[0](images, drawn)

    def _images(self, frames: Tensor) -> Tensor:
        return shrunk(images_of(frames, self.config.image), self.config.shrink)

    def _believe(self, images: Tensor) -> Normal:
        mean, logvar = self.read(self.convs(2 * images - 1).flatten(1)).float().chunk(2, dim=-1)
        return Normal.calm(mean, logvar)

    def _draw(self, latents: Tensor, views: int) -> Tensor:
        side = self.config.smallest
        drawn = self.unconvs(self.write(latents).view(-1, self.config.maps, side, side)).float()
        if self.config.on_median:
            return beside(self.median, drawn, views) + drawn / 2
        return (drawn + 1) / 2


def edge_distance(one: Tensor, two: Tensor, sizes: int = 3) -> Tensor:
    """Mean difference of the gradients of images (N, C, H, W), over `sizes` sizes."""
    gap, total = one - two, one.new_zeros(())
    for _ in range(sizes):
        total = total + gap.diff(dim=-1).abs().mean() + gap.diff(dim=-2).abs().mean()
        gap = F.avg_pool2d(gap, 2)
    return total / sizes
