"""The components of a pretraining: encoder, optimizer, frames and randomness."""

import hashlib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.core.checkpoint import load_into, optimizer_state, optimizer_tensors
from jostle.core.devices import move_frames, set_matmul_precision
from jostle.core.errors import require
from jostle.core.seeding import SeedTree
from jostle.encoders.catalog import EncoderConfig, EncoderModel, build_encoder
from jostle.encoders.saving import tensors_of
from jostle.frames.batches import Indices, ShuffledBatches
from jostle.frames.manifest import Manifest
from jostle.frames.reader import Frames
from jostle.pretraining.config import Pretraining
from jostle.pretraining.data_parallel import Ranks, join_ranks, parallel_loss

_INIT_SCENES = 256
"""Scenes that an encoder is initialized from."""


@dataclass
class Components:
    """What one pretraining works with."""

    config: Pretraining[EncoderConfig]
    model: EncoderModel
    ema_model: EncoderModel | None
    """Averaged weights, if asked for."""
    optimizer: torch.optim.Adam
    noise: torch.Generator
    frames: Frames
    train: Indices
    """Scenes to learn from."""
    validation: Indices
    """Scenes to validate with, always the same ones."""
    digest: str
    """Hash of all the frames that the run may see."""
    device: torch.device
    ranks: Ranks
    """Which of the processes of torchrun this is; the only one without it."""

    def __post_init__(self) -> None:
        """Let gradients be means over all processes."""
        self._loss = parallel_loss(self.model, self.ranks, self.device)

    @property
    def eval_model(self) -> EncoderModel:
        """The weights that are validated and kept."""
        return self.model if self.ema_model is None else self.ema_model

    def autocast(self) -> torch.autocast:
        """Within this, losses have the precision of the config.

        Weights are rounded anew at each use: a copy cached in a part without gradients, as slots
        have one, would be used where gradients are wanted, and its weights would never learn.
        """
        bf16 = self.config.precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16, bf16, cache_enabled=False)

    def read(self, scenes: Any) -> Tensor:
        """Frames (B, V, H, W, 3) of some scenes, on the encoder's device."""
        return move_frames(torch.from_numpy(self.frames.batch(scenes)), self.device)

    def batches(self, position: int) -> Iterator[Tensor]:
        """This process's parts of batches without end, after the first `position` batches."""
        seed = SeedTree(self.config.seed).integer("batches")
        for scenes in ShuffledBatches(self.train, self.config.batch_size, seed, position):
            yield self.read(self.ranks.rows(scenes))

    def loss(self, frames: Tensor, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss of this process's part of a batch, and its terms over the whole batch."""
        with self.autocast(), self.ranks.joint_noise(self.noise):
            loss, log = self._loss(frames, step, self.noise)
        return loss, self.ranks.mean(log)

    def init_from_data(self) -> None:
        """Initialize the encoder from scenes spread over the training side."""
        spread = np.linspace(0, len(self.train) - 1, min(_INIT_SCENES, len(self.train)))
        scenes = self.train[spread.astype(np.int64)]
        # Frames collected in one call share a background, as far as is known.
        backgrounds = torch.from_numpy(self.frames.collections[scenes])
        several = getattr(self.config.model, "num_backgrounds", 1) > 1
        self.model.init_from_data(self.read(scenes), backgrounds if several else None)
        self.restart_ema()

    def restart_ema(self) -> None:
        """Start averaging from the present weights."""
        if self.ema_model is not None:
            self.ema_model.load_state_dict(self.model.state_dict())

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Weights, averages, optimizer and noise."""
        tensors = tensors_of(self.model, "model.")
        if self.ema_model is not None:
            tensors |= tensors_of(self.ema_model, "ema.")
        tensors |= optimizer_tensors(self.optimizer, "adam.")
        return {**tensors, "noise": self.noise.get_state()}, {}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        del meta
        load_into(self.model, tensors, "model.", "the encoder")
        if self.ema_model is not None:
            load_into(self.ema_model, tensors, "ema.", "the averaged encoder")
        self.optimizer.load_state_dict(optimizer_state(self.optimizer, tensors, "adam."))
        self.noise.set_state(tensors["noise"])


def build_components(config: Pretraining[EncoderConfig]) -> Components:
    """Open the frames and build everything else from the seed; nothing is written."""
    require(bool(config.data), "Name a folder of frames: --data DIR ('jostle collect' makes them).")
    size = config.model.image_size
    frames = Frames(config.data, size=(size, size))
    config = replace(config, scenes=config.scenes or len(frames))
    train, validation = _split(config, frames)
    ranks, device = join_ranks(config.device)
    require(
        config.batch_size % ranks.size == 0,
        f"A batch of {config.batch_size} scenes cannot be divided among {ranks.size} processes.",
    )
    set_matmul_precision(config.precision, device)
    if config.threads:
        torch.set_num_threads(config.threads)

    # Encoder, initialized on the CPU so that a seed means the same on every device
    seeds = SeedTree(config.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("weights"))
        model = build_encoder(config.kind, config.model)
    model = model.to(device)
    if config.channels_last:
        for weight in model.parameters():
            if weight.ndim == 4:
                weight.data = weight.data.contiguous(memory_format=torch.channels_last)

    return Components(
        config=config,
        model=model,
        ema_model=deepcopy(model).requires_grad_(False) if config.ema_decay else None,
        optimizer=torch.optim.Adam(model.parameters(), lr=config.lr, eps=config.adam_eps),
        noise=torch.Generator(device).manual_seed(seeds.integer("noise")),
        frames=frames,
        train=train,
        validation=validation,
        digest=data_digest(frames.manifest, config.scenes),
        device=device,
        ranks=ranks,
    )


def data_digest(manifest: Manifest, scenes: int) -> str:
    """Hash of the first scenes of a folder, rounded up to whole shards; from the manifest alone."""
    known, seen = hashlib.sha256(), 0
    for shard in manifest.shards:
        if seen >= scenes:
            break
        known.update(shard.files["frames"].sha256.encode())
        seen += shard.scenes
    return known.hexdigest()[:16]


def _split(config: Pretraining[EncoderConfig], frames: Frames) -> tuple[Indices, Indices]:
    """Scenes to learn from, and scenes of other episodes to validate with."""
    require(
        config.scenes <= len(frames),
        f"{config.data} holds {len(frames)} scenes, but {config.scenes} are to be used. "
        "Collect more, or ask for fewer.",
    )
    seeds = SeedTree(config.seed)
    train, validation = frames.split(config.validation, seeds.integer("split"))
    train, validation = train[train < config.scenes], validation[validation < config.scenes]
    require(
        len(validation) > 0,
        f"With --validation {config.validation} no episode of {config.data} is kept for "
        "validation. Collect more, or keep a larger fraction.",
    )
    require(
        len(train) >= config.batch_size,
        f"{config.data} leaves {len(train)} scenes to learn from, which is less than one batch of "
        f"{config.batch_size}. Collect more, or take smaller batches.",
    )
    chosen = seeds.rng("validation").permutation(validation)[: config.validation_scenes]
    return train, np.sort(chosen)
