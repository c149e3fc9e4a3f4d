"""Slot Attention: an image as ten slots that compete for its pixels; a baseline for particles."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.entities import FEATURES, Entities, EntityLayout
from jostle.encoders.foreground import expand_median, median_frames, pixel_weights
from jostle.encoders.images import downscale, to_frames, to_images, upscale
from jostle.encoders.slot_config import BROADCAST_SIDE, SlotConfig


class PositionEmbedding(nn.Module):
    """Add an embedding of its position to every pixel."""

    grid: Tensor

    def __init__(self, side: int, channels: int) -> None:
        """Embed maps of `side` × `side` pixels."""
        super().__init__()
        line = torch.linspace(0, 1, side)
        y, x = torch.meshgrid(line, line, indexing="ij")
        self.register_buffer("grid", torch.stack((y, x, 1 - y, 1 - x), -1), persistent=False)
        self.linear = nn.Linear(4, channels)

    def forward(self, maps: Tensor) -> Tensor:
        """Map (N, c, h, w) to the same shape."""
        return maps + self.linear(self.grid).permute(2, 0, 1)


class SlotAttention(nn.Module):
    """Slots compete for pixels by a softmax over slots, and are updated by what they attend to."""

    def __init__(self, config: SlotConfig, inputs: int) -> None:
        """Attend to tokens of `inputs` features."""
        super().__init__()
        dim = config.slot_dim
        self.iterations = config.iterations
        self.slot_mean, self.slot_logstd = (nn.Parameter(torch.empty(1, 1, dim)) for _ in range(2))
        self.norm_tokens, self.norm_slots = nn.LayerNorm(inputs), nn.LayerNorm(dim)
        self.norm_hidden = nn.LayerNorm(dim)
        self.key = nn.Linear(inputs, dim, bias=False)
        self.value = nn.Linear(inputs, dim, bias=False)
        self.query = nn.Linear(dim, dim, bias=False)
        self.gru = nn.GRUCell(dim, dim)
        self.mlp_in = nn.Linear(dim, config.hidden_dim)
        self.mlp_out = nn.Linear(config.hidden_dim, dim)
        self._init_weights()

    def _init_weights(self) -> None:
        for layer in (self.key, self.value, self.query, self.mlp_out):
            nn.init.xavier_uniform_(layer.weight)
        nn.init.kaiming_uniform_(self.mlp_in.weight, nonlinearity="relu")
        nn.init.xavier_uniform_(self.gru.weight_ih)
        nn.init.orthogonal_(self.gru.weight_hh)
        for bias in (self.mlp_in.bias, self.mlp_out.bias):
            nn.init.zeros_(bias)
        for bias in (self.gru.bias_ih, self.gru.bias_hh):
            nn.init.zeros_(bias)
        for parameter in (self.slot_mean, self.slot_logstd):
            nn.init.xavier_uniform_(parameter)

    def forward(self, tokens: Tensor, noise: Tensor, weights: Tensor | None = None) -> Tensor:
        """Update slots (N, K, D) by attention to tokens (N, P, inputs).

        Gradients flow through the last iteration only, so the initial slots are never trained; the
        released code does the same.

        Args:
            tokens: One token per pixel.
            noise: Noise that the slots are initialized with, (N, K, D).
            weights: Weights of the tokens in the slots' means, (N, P, 1); equal by default.
        """
        tokens = self.norm_tokens(tokens)
        key, value = self.key(tokens), self.value(tokens)  # (N, P, D)
        slots = self.slot_mean + self.slot_logstd.exp() * noise
        with torch.no_grad():
            for _ in range(self.iterations):
                slots = self._iterate(slots, key, value, weights)
        return self._iterate(slots.detach(), key, value, weights)

    def _iterate(self, slots: Tensor, key: Tensor, value: Tensor, weights: Tensor | None) -> Tensor:
        # Attention: softmax over slots, then normalized over pixels
        query = self.query(self.norm_slots(slots)) * slots.shape[-1] ** -0.5
        attention = torch.bmm(key, query.transpose(1, 2)).softmax(-1) + 1e-8  # (N, P, K)
        if weights is not None:
            attention = (attention * weights).to(value.dtype)
        attention = attention / attention.sum(1, keepdim=True)

        # Recurrent update
        updates = torch.bmm(attention.transpose(1, 2), value)  # (N, K, D)
        slots = self.gru(updates.flatten(0, 1), slots.flatten(0, 1)).view(updates.shape)
        return slots + self.mlp_out(F.relu(self.mlp_in(self.norm_hidden(slots))))


class SlotModel(nn.Module):
    """Slot Attention as an `Encoder`: its entities are slots."""

    initial_noise: Tensor
    median: Tensor

    def __init__(self, config: SlotConfig) -> None:
        """Build from `config`; weights are drawn from torch's global generator."""
        super().__init__()
        self.config = config
        channels, dim, kernel = config.channels, config.slot_dim, config.kernel_size

        # Encoder
        convs: list[nn.Module] = []
        for index in range(4):
            inputs = channels if index else 3
            convs.append(nn.Conv2d(inputs, channels, kernel, padding=kernel // 2))
            convs.append(nn.LeakyReLU(0.01))
        self.conv_encoder = nn.Sequential(*convs, PositionEmbedding(config.input_size, channels))
        self.token_mlp = nn.Sequential(
            nn.Linear(channels, channels), nn.LeakyReLU(0.01), nn.Linear(channels, channels)
        )
        self.slot_attention = SlotAttention(config, channels)

        # Spatial broadcast decoder
        layers: list[nn.Module] = [PositionEmbedding(BROADCAST_SIDE, dim)]
        last, half = config.last_channels, kernel // 2
        widths = [dim, *[channels] * (config.num_upsamplings - 1), last]
        for inputs, outputs in pairwise(widths):
            layers.append(nn.ConvTranspose2d(inputs, outputs, kernel, 2, half, output_padding=1))
            layers.append(nn.LeakyReLU(0.01))
        layers += [nn.ConvTranspose2d(last, last, kernel, padding=half), nn.LeakyReLU(0.01)]
        self.conv_decoder = nn.Sequential(*layers, nn.ConvTranspose2d(last, 4, 3, padding=1))

        # Fixed noise and median frames
        fixed = torch.Generator().manual_seed(config.noise_seed)
        noise = torch.randn(1, config.num_slots, dim, generator=fixed)
        self.register_buffer("initial_noise", noise)
        if config.foreground_weight or config.subtract_background:
            medians = torch.zeros(config.num_cameras, 3, config.input_size, config.input_size)
            self.register_buffer("median", medians)

    @property
    def layout(self) -> EntityLayout:
        """Which columns of an entity are what."""
        return EntityLayout(((FEATURES, self.config.slot_dim),))

    @property
    def shape(self) -> tuple[int, int]:
        """Entities per view and width of an entity."""
        return self.config.num_slots, self.config.slot_dim

    @torch.no_grad()
    def encode(self, frames: Tensor) -> Entities:
        """Slots (B, V, K, D) of frames (B, V, H, W, 3) uint8; all visible, deterministic."""
        images = self._images(frames)
        slots = self._slots(images, self.initial_noise, frames.shape[1])
        return Entities.all_visible(slots.view(*frames.shape[:2], *self.shape))

    @torch.no_grad()
    def reconstruct(self, frames: Tensor) -> Tensor:
        """Reconstruct frames (B, V, H, W, 3) uint8 from their slots."""
        images, views = self._images(frames), frames.shape[1]
        decoded = (self._decode(self._slots(images, self.initial_noise, views), views) + 1) / 2
        return to_frames(upscale(decoded, self.config.image_size), views)

    @torch.no_grad()
    def masks(self, slots: Entities) -> Tensor:
        """Share of each slot (B, V, K, D) in each pixel of the frame: (B, V, K, H, W).

        With `subtract_background`, the rest of a pixel belongs to the median frame.
        """
        share = self._decode_slots(slots.values.flatten(0, 1))[1].squeeze(2)  # (N, K, h, w)
        full = upscale(share, self.config.image_size)
        return full.view(*slots.values.shape[:3], *full.shape[2:])

    @torch.no_grad()
    def init_from_data(self, frames: Tensor, background_ids: Tensor | None = None) -> None:
        """Store the median of frames (B, V, H, W, 3) before training, if the config needs it."""
        del background_ids
        images, views = self._images(frames), frames.shape[1]
        if self.config.foreground_weight or self.config.subtract_background:
            self.median.copy_(median_frames(images, views, self.config.num_cameras))

    def loss(
        self, frames: Tensor, step: int, rng: torch.Generator | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Mean squared error, the same at every `step`, and its terms for the log."""
        images, views = self._images(frames), frames.shape[1]
        shape = (len(images), *self.initial_noise.shape[1:])
        noise = self.initial_noise.new_empty(shape).normal_(generator=rng)
        decoded = self._decode(self._slots(images, noise, views), views)
        error = (2 * images - 1 - decoded).square()
        if self.config.foreground_weight:
            median = expand_median(self.median, images, views)
            error = error * pixel_weights(images, median, self.config.foreground_weight)
        total = error.mean()
        return total, {"loss": total.detach(), "reconstruction": total.detach()}

    def _images(self, frames: Tensor) -> Tensor:
        return downscale(to_images(frames, self.config.image_size), self.config.downscale)

    def _slots(self, images: Tensor, noise: Tensor, views: int) -> Tensor:
        inputs, weights = 2 * images - 1, None
        if self.config.subtract_background:
            median = expand_median(self.median, images, views)
            inputs = 2 * (images - median)
            weights = pixel_weights(images, median, self.config.foreground_weight)
            weights = weights.flatten(2).transpose(1, 2)  # (N, P, 1)
        tokens = self.token_mlp(self.conv_encoder(inputs).flatten(2).transpose(1, 2))  # (N, P, c)
        return self.slot_attention(tokens, noise.expand(images.shape[0], -1, -1), weights)

    def _decode(self, slots: Tensor, views: int) -> Tensor:
        """Images (N, 3, h, w) in [-1, 1] of slots (N, K, D)."""
        colors, share = self._decode_slots(slots)
        decoded = (colors * share).sum(1)
        if not self.config.subtract_background:
            return decoded
        background = 1 - share.sum(1)  # (N, 1, h, w)
        return decoded + background * (2 * expand_median(self.median, decoded, views) - 1)

    def _decode_slots(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Colors of each slot, (N, K, 3, h, w), and its share in each pixel, (N, K, 1, h, w)."""
        side = BROADCAST_SIDE
        maps = slots.flatten(0, 1)[..., None, None].expand(-1, -1, side, side)
        decoded = self.conv_decoder(maps).float()  # (NK, 4, h, w)
        decoded = decoded.view(*slots.shape[:2], *decoded.shape[1:])
        logits = decoded[:, :, 3:]
        if self.config.subtract_background:  # the logit of the median frame is always 0
            logits = torch.cat((logits, torch.zeros_like(logits[:, :1])), 1)
        return decoded[:, :, :3], logits.softmax(1)[:, : slots.shape[1]]
