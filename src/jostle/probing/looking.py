"""What an encoder finds in frames: one form for particles, slots and vectors, places in pixels."""

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import Entities
from jostle.core.particles import Particles
from jostle.frames.batches import Indices
from jostle.frames.reader import Frames

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BATCH = 32
"""Images encoded at once."""
REDRAWN = 64
"""Most scenes that are reconstructed: drawing is slow, and its quality hardly varies."""


class Encoder(Protocol):
    """What every encoder can do."""

    def encode(self, frames: Tensor) -> Entities:
        """Entities (B, V, K, D) of frames (B, V, H, W, 3) uint8."""
        ...

    def reconstruct(self, frames: Tensor) -> Tensor:
        """What the entities of frames look like, in the same form."""
        ...


@runtime_checkable
class FindsParticles(Encoder, Protocol):
    """An encoder whose entities are latent particles."""

    config: Any
    """Its `visible_above` is the transparency from which on agents see a particle."""

    def particles(self, frames: Tensor) -> Particles:
        """All particles (B, V, K, D) of frames (B, V, H, W, 3) uint8."""
        ...


@runtime_checkable
class FindsMasks(Encoder, Protocol):
    """An encoder whose entities are slots that share the pixels."""

    def masks(self, slots: Entities) -> Tensor:
        """Share of each slot (B, V, K, D) in each pixel, (B, V, K, H, W); the rest is nobody's."""
        ...


@dataclass(frozen=True)
class Sight:
    """What an encoder finds in S scenes; a vector has no places."""

    features: NDArray[np.float32]
    """What entities look like, (S, V, K, F): z_f of particles, else everything."""
    visible: Flags
    """Which entities are there, (S, V, K)."""
    places: Floats | None
    """Where they are, (S, V, K, 2), in pixels: row and column, whole numbers at pixels' centers."""
    reach: Floats | None
    """Particles: half their boxes, (S, V, K, 2), in pixels."""
    winners: NDArray[np.uint8] | None
    """Slots: which one has the largest share of a pixel, (S, V, H, W); K if the background has."""
    psnr: Floats
    """Quality of reconstructions in dB, (S, V); NaN where none was made."""
    rate: float
    """Images encoded per second: the median over batches, and noisy."""


def look(model: Encoder, frames: Frames, scenes: Indices) -> Sight:
    """Show scenes to an encoder, batch by batch."""
    views = frames.layout.views
    step = max(1, BATCH // views)
    parts, rates = [], []
    for start in range(0, len(scenes), step):
        batch = torch.from_numpy(frames.batch(scenes[start : start + step]))
        part, seconds = glance(model, batch)
        parts.append(part)
        rates.append(len(batch) * views / seconds)
    whole = Sight(
        features=np.concatenate([part.features for part in parts]),
        visible=np.concatenate([part.visible for part in parts]),
        places=_joined([part.places for part in parts]),
        reach=_joined([part.reach for part in parts]),
        winners=_joined([part.winners for part in parts]),
        psnr=np.full((len(scenes), views), np.nan),
        rate=float(np.median(rates)),
    )
    drawn = np.unique(np.linspace(0, len(scenes) - 1, REDRAWN).round().astype(int))
    for start in range(0, len(drawn), step):
        some = drawn[start : start + step]
        seen = torch.from_numpy(frames.batch(scenes[some]))
        whole.psnr[some] = psnr(seen, model.reconstruct(seen))
    return whole


def glance(model: Encoder, frames: Tensor) -> tuple[Sight, float]:
    """What is found in one batch of frames (B, V, H, W, 3), and the seconds that encoding took."""
    begun = time.perf_counter()
    if isinstance(model, FindsParticles):
        particles = model.particles(frames)
        entities = particles.entities(model.config.visible_above)
        seconds = time.perf_counter() - begun
        return _of_particles(particles, entities, frames), seconds
    entities = model.encode(frames)
    seconds = time.perf_counter() - begun
    plain = Sight(
        features=_numpy(entities.values, np.float32),
        visible=_numpy(entities.visible, np.bool_),
        places=None,
        reach=None,
        winners=None,
        psnr=np.full(frames.shape[:2], np.nan),
        rate=0.0,
    )
    if isinstance(model, FindsMasks):
        shares = model.masks(entities)
        rest = 1 - shares.sum(2, keepdim=True)
        winners = _numpy(torch.cat((shares, rest), 2).argmax(2), np.uint8)
        places, won = slot_places(winners, plain.visible.shape[2])
        return replace(plain, visible=won, places=places, winners=winners), seconds
    return plain, seconds


def slot_places(winners: NDArray[np.uint8], slots: int) -> tuple[Floats, Flags]:
    """Mean place (B, V, K, 2) of the pixels that each slot wins, and whether it wins any."""
    batch, views, height, width = winners.shape
    kinds = slots + 1  # the last is nobody
    image = np.arange(batch * views).reshape(batch, views, 1, 1)
    index = (image * kinds + winners).ravel()
    rows, columns = np.indices((height, width)).reshape(2, 1, -1)
    sums = [
        np.bincount(index, np.broadcast_to(what, (batch * views, height * width)).ravel(),
                    batch * views * kinds)
        for what in (np.ones_like(rows), rows, columns)
    ]  # fmt: skip
    count = np.maximum(sums[0], 1)
    places = np.stack((sums[1] / count, sums[2] / count), -1)
    shape = (batch, views, kinds)
    return places.reshape(*shape, 2)[:, :, :-1], (sums[0] > 0).reshape(shape)[:, :, :-1]


def psnr(frames: Tensor, drawn: Tensor) -> Floats:
    """Peak signal-to-noise ratio of each image, (B, V), in dB; at most that of one gray level."""
    error = (frames.double() - drawn.double()).square().mean((2, 3, 4))
    worst = 1 / frames[0, 0].numel()  # one number of the image off by one
    return _numpy(10 * torch.log10(255**2 / error.clamp(min=worst)), np.float64)


def _of_particles(particles: Particles, entities: Entities, frames: Tensor) -> Sight:
    half = (torch.tensor(frames.shape[2:4], dtype=torch.float64) - 1) / 2
    return Sight(
        features=_numpy(particles.features, np.float32),
        visible=_numpy(entities.visible, np.bool_),
        places=_numpy((particles.place.double() + 1) * half, np.float64),
        reach=_numpy(particles.boxes.double() * half, np.float64),
        winners=None,
        psnr=np.full(frames.shape[:2], np.nan),
        rate=0.0,
    )


def _numpy(tensor: Tensor, dtype: Any) -> NDArray[Any]:
    return tensor.detach().cpu().numpy().astype(dtype)


def _joined(parts: list[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)
