"""What an encoder detects in frames: one form for particles, slots and vectors.

Positions are in pixels. S scenes, V views, K entities per view.
"""

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import Entities
from jostle.core.particles import Particles
from jostle.core.protocols import Encoder
from jostle.frames.batches import Indices
from jostle.frames.reader import Frames

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BATCH_IMAGES = 32
"""Images encoded at once."""
MAX_RECONSTRUCTED = 64
"""Most scenes that are reconstructed: this is slow, and its quality hardly varies."""


@runtime_checkable
class SupportsParticles(Protocol):
    """An encoder whose entities are latent particles."""

    config: Any
    """Its `opacity_threshold` is the smallest opacity of a visible particle."""

    def particles(self, frames: Tensor) -> Particles:
        """All particles (B, V, K, D) of frames (B, V, H, W, 3) uint8."""
        ...


@runtime_checkable
class SupportsMasks(Protocol):
    """An encoder whose entities are slots that share the pixels."""

    def masks(self, slots: Entities) -> Tensor:
        """Share of each slot (B, V, K, D) in each pixel, (B, V, K, H, W)."""
        ...


@dataclass(frozen=True)
class Detections:
    """Entities that an encoder detects in S scenes; a vector has no positions."""

    features: NDArray[np.float32]
    """Appearance, (S, V, K, F): z_f of particles, everything for slots and vectors."""
    visible: Flags
    """Which entities are visible, (S, V, K)."""
    positions: Floats | None
    """Row and column in pixels, (S, V, K, 2); pixel centers have integer coordinates."""
    half_extent: Floats | None
    """Particles: half of the height and width of their boxes, (S, V, K, 2), in pixels."""
    slot_argmax: NDArray[np.uint8] | None
    """Slots: the slot with the largest share of a pixel, (S, V, H, W); K is the background."""
    psnr: Floats
    """Peak signal-to-noise ratio of reconstructions in dB, (S, V); NaN where none was made."""
    images_per_second: float
    """Encoding speed: the median over batches, and noisy."""


def encode_dataset(encoder: Encoder, frames: Frames, scenes: Indices) -> Detections:
    """Encode scenes of a dataset, batch by batch."""
    views = frames.layout.views
    step = max(1, BATCH_IMAGES // views)

    # Detections
    parts, rates = [], []
    for start in range(0, len(scenes), step):
        batch = torch.from_numpy(frames.batch(scenes[start : start + step]))
        part, seconds = encode_batch(encoder, batch)
        parts.append(part)
        rates.append(len(batch) * views / seconds)
    detections = Detections(
        features=np.concatenate([part.features for part in parts]),
        visible=np.concatenate([part.visible for part in parts]),
        positions=_concatenate([part.positions for part in parts]),
        half_extent=_concatenate([part.half_extent for part in parts]),
        slot_argmax=_concatenate([part.slot_argmax for part in parts]),
        psnr=np.full((len(scenes), views), np.nan),
        images_per_second=float(np.median(rates)),
    )

    # Reconstructions of evenly spaced scenes
    chosen = np.unique(np.linspace(0, len(scenes) - 1, MAX_RECONSTRUCTED).round().astype(int))
    for start in range(0, len(chosen), step):
        rows = chosen[start : start + step]
        batch = torch.from_numpy(frames.batch(scenes[rows]))
        detections.psnr[rows] = psnr(batch, encoder.reconstruct(batch))
    return detections


def encode_batch(encoder: Encoder, frames: Tensor) -> tuple[Detections, float]:
    """Detections in a batch of frames (B, V, H, W, 3), and the seconds that encoding took."""
    start = time.perf_counter()
    if isinstance(encoder, SupportsParticles):
        particles = encoder.particles(frames)
        entities = particles.to_entities(encoder.config.opacity_threshold)
        seconds = time.perf_counter() - start
        return _particle_detections(particles, entities, frames), seconds
    entities = encoder.encode(frames)
    seconds = time.perf_counter() - start
    detections = Detections(
        features=_numpy(entities.values, np.float32),
        visible=_numpy(entities.visible, np.bool_),
        positions=None,
        half_extent=None,
        slot_argmax=None,
        psnr=np.full(frames.shape[:2], np.nan),
        images_per_second=0.0,
    )
    if isinstance(encoder, SupportsMasks):
        masks = encoder.masks(entities)
        background = 1 - masks.sum(2, keepdim=True)
        slot_argmax = _numpy(torch.cat((masks, background), 2).argmax(2), np.uint8)
        positions, visible = slot_positions(slot_argmax, detections.visible.shape[2])
        detections = replace(
            detections, visible=visible, positions=positions, slot_argmax=slot_argmax
        )
    return detections, seconds


def slot_positions(slot_argmax: NDArray[np.uint8], slots: int) -> tuple[Floats, Flags]:
    """Mean position (B, V, K, 2) of the pixels of each slot, and whether it has any."""
    batch, views, height, width = slot_argmax.shape
    labels = slots + 1  # the last one is the background
    image = np.arange(batch * views).reshape(batch, views, 1, 1)
    index = (image * labels + slot_argmax).ravel()
    rows, columns = np.indices((height, width)).reshape(2, 1, -1)
    sums = [
        np.bincount(index, np.broadcast_to(weights, (batch * views, height * width)).ravel(),
                    batch * views * labels)
        for weights in (np.ones_like(rows), rows, columns)
    ]  # fmt: skip
    count = np.maximum(sums[0], 1)
    positions = np.stack((sums[1] / count, sums[2] / count), -1)
    shape = (batch, views, labels)
    return positions.reshape(*shape, 2)[:, :, :-1], (sums[0] > 0).reshape(shape)[:, :, :-1]


def psnr(frames: Tensor, reconstructions: Tensor) -> Floats:
    """Peak signal-to-noise ratio of each image, (B, V), in dB.

    At most that of an image with one of its numbers off by one.
    """
    error = (frames.double() - reconstructions.double()).square().mean((2, 3, 4))
    smallest = 1 / frames[0, 0].numel()
    return _numpy(10 * torch.log10(255**2 / error.clamp(min=smallest)), np.float64)


def _particle_detections(particles: Particles, entities: Entities, frames: Tensor) -> Detections:
    half = (torch.tensor(frames.shape[2:4], dtype=torch.float64) - 1) / 2
    return Detections(
        features=_numpy(particles.features, np.float32),
        visible=_numpy(entities.visible, np.bool_),
        positions=_numpy((particles.position.double() + 1) * half, np.float64),
        half_extent=_numpy(particles.boxes.double() * half, np.float64),
        slot_argmax=None,
        psnr=np.full(frames.shape[:2], np.nan),
        images_per_second=0.0,
    )


def _numpy(tensor: Tensor, dtype: Any) -> NDArray[Any]:
    return tensor.detach().cpu().numpy().astype(dtype)


def _concatenate(parts: list[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)
