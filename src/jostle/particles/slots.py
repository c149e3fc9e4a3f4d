"""Slot Attention: an image as ten slots that compete for its pixels; a rival of particles."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.entities import Entities
from jostle.core.errors import require
from jostle.particles.foreground import beside, median_frames, pixel_weights
from jostle.particles.frames import enlarged, frames_of, images_of, shrunk

_START = 8
"""Side of the maps that slots are broadcast to, in pixels."""


@dataclass(frozen=True, kw_only=True)
class SlotConfig:
    """Sizes of the slot model; the defaults are those of the released code."""

    image: int = 128
    """Height and width of the frames, in pixels."""
    shrink: int = 1
    """Factor by which frames are averaged down before anything looks at them."""
    slots: int = 10
    """Entities per image."""
    width: int = 64
    """Features of a slot."""
    channels: int = 64
    """Channels of the convolutions."""
    kernel: int = 5
    """Side of the convolutions' kernels, in pixels."""
    last_channels: int = 64
    """Channels of the decoder at full size."""
    hidden: int = 128
    """Hidden layer behind the recurrent update."""
    rounds: int = 2
    """Rounds of attention without gradient; one more follows with gradient."""
    noise_seed: int = 0
    """Seed of the fixed noise that slots start from when encoding."""
    foreground: float = 0.0
    """How much more a pixel counts that is far from the median frame."""
    on_median: bool = False
    """Whether what stands still is known. Slots read differences from the median frame, to which
    pixels add by their weights; and it competes with the slots for every pixel that is drawn."""
    cameras: int = 2
    """Views with a median frame of their own; for `foreground` and `on_median` only."""

    def __post_init__(self) -> None:
        """Refuse sizes that the decoder cannot reach."""
        require(
            self.image % self.shrink == 0
            and _START << self.doublings == self.side
            and self.doublings >= 1,
            f"The decoder draws {2 * _START}, {4 * _START}, {8 * _START}, ... px, but "
            f"{self.image} px shrunk {self.shrink} times are {self.image / self.shrink:g} px.",
        )
        require(self.slots >= 1, f"There must be at least 1 slot, not {self.slots}.")

    @property
    def side(self) -> int:
        """Side of the images that the model works on, in pixels."""
        return self.image // self.shrink

    @property
    def doublings(self) -> int:
        """How often the decoder doubles."""
        return (self.side // _START).bit_length() - 1


PAPER_SLOTS = SlotConfig()
"""The slot baseline of the paper."""
LITE_SLOTS = SlotConfig(
    shrink=4, channels=32, kernel=3, last_channels=16, foreground=20.0, on_median=True
)
"""The same slots from images of a quarter of the side, with fewer channels and smaller kernels."""


class Places(nn.Module):
    """Add to every pixel where it is."""

    grid: Tensor

    def __init__(self, side: int, channels: int) -> None:
        """Serve maps of `side` × `side` pixels."""
        super().__init__()
        line = torch.linspace(0, 1, side)
        y, x = torch.meshgrid(line, line, indexing="ij")
        self.register_buffer("grid", torch.stack((y, x, 1 - y, 1 - x), -1), persistent=False)
        self.linear = nn.Linear(4, channels)

    def forward(self, maps: Tensor) -> Tensor:
        """Map (N, c, h, w) to the same shape."""
        return maps + self.linear(self.grid).permute(2, 0, 1)


class SlotAttention(nn.Module):
    """Slots compete for pixels, and take in what they win."""

    def __init__(self, config: SlotConfig, inputs: int) -> None:
        """Read tokens of `inputs` features."""
        super().__init__()
        width = config.width
        self.rounds = config.rounds
        self.mean, self.logstd = (nn.Parameter(torch.empty(1, 1, width)) for _ in range(2))
        self.norm_tokens, self.norm_slots = nn.LayerNorm(inputs), nn.LayerNorm(width)
        self.norm_hidden = nn.LayerNorm(width)
        self.key = nn.Linear(inputs, width, bias=False)
        self.value = nn.Linear(inputs, width, bias=False)
        self.query = nn.Linear(width, width, bias=False)
        self.update = nn.GRUCell(width, width)
        self.widen, self.narrow = nn.Linear(width, config.hidden), nn.Linear(config.hidden, width)
        self._start()

    def _start(self) -> None:
        for part in (self.key, self.value, self.query, self.narrow):
            nn.init.xavier_uniform_(part.weight)
        nn.init.kaiming_uniform_(self.widen.weight, nonlinearity="relu")
        nn.init.xavier_uniform_(self.update.weight_ih)
        nn.init.orthogonal_(self.update.weight_hh)
        for bias in (self.widen.bias, self.narrow.bias):
            nn.init.zeros_(bias)
        for bias in (self.update.bias_ih, self.update.bias_hh):
            nn.init.zeros_(bias)
        for start in (self.mean, self.logstd):
            nn.init.xavier_uniform_(start)

    def forward(self, tokens: Tensor, noise: Tensor, weights: Tensor | None = None) -> Tensor:
        """Fill slots (N, K, width) from tokens (N, P, inputs), starting by `noise` (N, K, width).

        Tokens may have weights (N, P, 1): how much each adds to the slots that win it. Only the
        last round is differentiated, so where slots start from is never learnt; the released code
        has it so.
        """
        tokens = self.norm_tokens(tokens)
        key, value = self.key(tokens), self.value(tokens)  # (N, P, width)
        slots = self.mean + self.logstd.exp() * noise
        with torch.no_grad():
            for _ in range(self.rounds):
                slots = self._round(slots, key, value, weights)
        return self._round(slots.detach(), key, value, weights)

    def _round(self, slots: Tensor, key: Tensor, value: Tensor, weights: Tensor | None) -> Tensor:
        query = self.query(self.norm_slots(slots)) * slots.shape[-1] ** -0.5
        share = torch.bmm(key, query.transpose(1, 2)).softmax(-1) + 1e-8  # (N, P, K)
        if weights is not None:
            share = (share * weights).to(value.dtype)
        share = share / share.sum(1, keepdim=True)
        seen = torch.bmm(share.transpose(1, 2), value)  # (N, K, width)
        slots = self.update(seen.flatten(0, 1), slots.flatten(0, 1)).view(seen.shape)
        return slots + self.narrow(F.relu(self.widen(self.norm_hidden(slots))))


class SlotModel(nn.Module):
    """The model, with the face of every other encoder."""

    noise: Tensor
    median: Tensor

    def __init__(self, config: SlotConfig) -> None:
        """Build by `config`; weights come from torch's global stream."""
        super().__init__()
        self.config = config
        channels, width, kernel = config.channels, config.width, config.kernel
        convs: list[nn.Module] = []
        for index in range(4):
            inputs = channels if index else 3
            convs.append(nn.Conv2d(inputs, channels, kernel, padding=kernel // 2))
            convs.append(nn.LeakyReLU(0.01))
        self.convs = nn.Sequential(*convs, Places(config.side, channels))
        self.tokens = nn.Sequential(
            nn.Linear(channels, channels), nn.LeakyReLU(0.01), nn.Linear(channels, channels)
        )
        self.attend = SlotAttention(config, channels)
        drawn: list[nn.Module] = [Places(_START, width)]
        last, half = config.last_channels, kernel // 2
        steps = [width, *[channels] * (config.doublings - 1), last]
        for inputs, outputs in pairwise(steps):
            drawn.append(nn.ConvTranspose2d(inputs, outputs, kernel, 2, half, output_padding=1))
            drawn.append(nn.LeakyReLU(0.01))
        drawn += [nn.ConvTranspose2d(last, last, kernel, padding=half), nn.LeakyReLU(0.01)]
        self.unconvs = nn.Sequential(*drawn, nn.ConvTranspose2d(last, 4, 3, padding=1))
        fixed = torch.Generator().manual_seed(config.noise_seed)
        self.register_buffer("noise", torch.randn(1, config.slots, width, generator=fixed))
        if config.foreground or config.on_median:
            medians = torch.zeros(config.cameras, 3, config.side, config.side)
            self.register_buffer("median", medians)

    @property
    def shape(self) -> tuple[int, int]:
        """Entities per view and width of an entity."""
        return self.config.slots, self.config.width

    @torch.no_grad()
    def encode(self, frames: Tensor) -> Entities:
        """Slots (B, V, K, width) of frames (B, V, H, W, 3) uint8; all visible, deterministic."""
        images = self._images(frames)
        slots = self._slots(images, self.noise, frames.shape[1])
        return Entities.all_visible(slots.view(*frames.shape[:2], *self.shape))

    @torch.no_grad()
    def reconstruct(self, frames: Tensor) -> Tensor:
        """What the slots of frames (B, V, H, W, 3) uint8 look like, in the same form."""
        images = self._images(frames)
        drawn = (
            self._draw(self._slots(images, self.noise, frames.shape[1]), frames.shape[1]) + 1
        ) / 2
        return frames_of(enlarged(drawn, self.config.image), frames.shape[1])

    @torch.no_grad()
    def masks(self, slots: Entities) -> Tensor:
        """Share of each slot (B, V, K, width) in each pixel of the frame: (B, V, K, H, W).

        With `on_median` the rest is the median's.
        """
        share = self._parts(slots.values.flatten(0, 1))[1].squeeze(2)  # (N, K, h, w)
        full = enlarged(share, self.config.image)
        return full.view(*slots.values.shape[:3], *full.shape[2:])

    @torch.no_grad()
    def begin(self, frames: Tensor, sceneries: Tensor | None = None) -> None:
        """Before training: remember the median of frames (B, V, H, W, 3), if it is needed."""
        del sceneries
        images, views = self._images(frames), frames.shape[1]
        if self.config.foreground or self.config.on_median:
            self.median.copy_(median_frames(images, views, self.config.cameras))

    def loss(
        self, frames: Tensor, step: int, rng: torch.Generator | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What training minimizes: the mean squared error; the same at every `step`."""
        images = self._images(frames)
        noise = self.noise.new_empty(len(images), *self.noise.shape[1:]).normal_(generator=rng)
        drawn = self._draw(self._slots(images, noise, frames.shape[1]), frames.shape[1])
        gap = (2 * images - 1 - drawn).square()
        if self.config.foreground:
            median = beside(self.median, images, frames.shape[1])
            gap = gap * pixel_weights(images, median, self.config.foreground)
        total = gap.mean()
        return total, {"loss": total.detach(), "pixels": total.detach()}

    def _images(self, frames: Tensor) -> Tensor:
        return shrunk(images_of(frames, self.config.image), self.config.shrink)

    def _slots(self, images: Tensor, noise: Tensor, views: int) -> Tensor:
        read, weights = 2 * images - 1, None
        if self.config.on_median:
            median = beside(self.median, images, views)
            read = 2 * (images - median)
            weights = pixel_weights(images, median, self.config.foreground)
            weights = weights.flatten(2).transpose(1, 2)  # (N, P, 1)
        tokens = self.tokens(self.convs(read).flatten(2).transpose(1, 2))  # (N, P, c)
        return self.attend(tokens, noise.expand(len(images), -1, -1), weights)

    def _draw(self, slots: Tensor, views: int) -> Tensor:
        colors, share = self._parts(slots)
        drawn = (colors * share).sum(1)
        if not self.config.on_median:
            return drawn
        rest = 1 - share.sum(1)  # (N, 1, h, w)
        return drawn + rest * (2 * beside(self.median, drawn, views) - 1)

    def _parts(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        """What each slot draws, (N, K, 3, h, w), and its share in each pixel, (N, K, 1, h, w)."""
        maps = slots.flatten(0, 1)[..., None, None].expand(-1, -1, _START, _START)
        drawn = self.unconvs(maps).float()  # (NK, 4, H, W)
        drawn = drawn.view(*slots.shape[:2], *drawn.shape[1:])
        bids = drawn[:, :, 3:]
        if self.config.on_median:  # it always bids 0
            bids = torch.cat((bids, torch.zeros_like(bids[:, :1])), 1)
        return drawn[:, :, :3], bids.softmax(1)[:, : slots.shape[1]]
