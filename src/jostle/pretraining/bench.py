"""The things a pretraining works with, put together in one place."""

import hashlib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.core.errors import require
from jostle.core.seeding import SeedTree
from jostle.frames.batches import Indices
from jostle.frames.manifest import Manifest
from jostle.frames.reader import Frames
from jostle.particles.catalog import EncoderConfig, Model, build
from jostle.pretraining.config import Pretraining

_FIRST_LOOK = 256
"""Scenes that an encoder sees before its first step."""


@dataclass
class Bench:
    """Encoder, optimizer, frames and randomness of one pretraining."""

    plan: Pretraining[EncoderConfig]
    model: Model
    slow: Model | None
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

    @property
    def kept(self) -> Model:
        """The weights that are validated and kept."""
        return self.model if self.slow is None else self.slow

    def rounding(self) -> torch.autocast:
        """Within this, losses are computed as precisely as the plan says.

        Weights are rounded anew at each use: a copy kept from a part without gradients, as slots
        have one, would be used where gradients are wanted, and its weights would never learn.
        """
        rounded = self.plan.precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16, rounded, cache_enabled=False)

    def read(self, scenes: Any) -> Tensor:
        """Frames (B, V, H, W, 3) of some scenes, where the encoder is."""
        return torch.from_numpy(self.frames.batch(scenes)).to(self.device)

    def batches(self, position: int) -> Iterator[Tensor]:
        """Batches of frames without end, after the first `position` of them."""
        seed = SeedTree(self.plan.seed).integer("batches")
        for batch in self.frames.batches(self.plan.batch, self.train, seed, position):
            yield torch.from_numpy(batch.frames).to(self.device)

    def first_look(self) -> None:
        """Let the encoder see scenes from everywhere in the training side."""
        spread = np.linspace(0, len(self.train) - 1, min(_FIRST_LOOK, len(self.train)))
        scenes = self.train[spread.astype(np.int64)]
        # What was collected in one call stands in one scenery, as far as anybody knows.
        sceneries = torch.from_numpy(self.frames.collections[scenes])
        several = getattr(self.plan.model, "sceneries", 1) > 1
        self.model.begin(self.read(scenes), sceneries if several else None)
        self.share_weights()

    def share_weights(self) -> None:
        """Let averaging begin from the weights of this moment."""
        if self.slow is not None:
            self.slow.load_state_dict(self.model.state_dict())


def open_bench(plan: Pretraining[EncoderConfig]) -> Bench:
    """Open the frames and build everything else from the seed; nothing is written."""
    require(bool(plan.data), "Name a folder of frames: --data DIR ('jostle collect' makes them).")
    frames = Frames(plan.data, size=(plan.model.image, plan.model.image))
    plan = replace(plan, scenes=plan.scenes or len(frames))
    train, validation = _sides(plan, frames)
    device = _device(plan.device)
    if plan.threads:
        torch.set_num_threads(plan.threads)
    seeds = SeedTree(plan.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("weights"))
        model = build(plan.kind, plan.model)
    model = model.to(device)
    if plan.channels_last:
        for weight in model.parameters():
            if weight.ndim == 4:
                weight.data = weight.data.contiguous(memory_format=torch.channels_last)
    slow = deepcopy(model).requires_grad_(False) if plan.ema else None
    return Bench(
        plan=plan,
        model=model,
        slow=slow,
        optimizer=torch.optim.Adam(model.parameters(), lr=plan.lr, eps=plan.adam_eps),
        noise=torch.Generator(device).manual_seed(seeds.integer("noise")),
        frames=frames,
        train=train,
        validation=validation,
        digest=data_digest(frames.manifest, plan.scenes),
        device=device,
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


def _sides(plan: Pretraining[EncoderConfig], frames: Frames) -> tuple[Indices, Indices]:
    require(
        plan.scenes <= len(frames),
        f"{plan.data} holds {len(frames)} scenes, but {plan.scenes} are to be used. "
        "Collect more, or ask for fewer.",
    )
    seeds = SeedTree(plan.seed)
    train, kept = frames.split(plan.validation, seeds.integer("split"))
    train, kept = train[train < plan.scenes], kept[kept < plan.scenes]
    require(
        len(kept) > 0,
        f"With --validation {plan.validation} no episode of {plan.data} is kept for validation. "
        "Collect more, or keep a larger share.",
    )
    require(
        len(train) >= plan.batch,
        f"{plan.data} leaves {len(train)} scenes to learn from, which is less than one batch of "
        f"{plan.batch}. Collect more, or take smaller batches.",
    )
    chosen = seeds.rng("validation").permutation(kept)[: plan.validation_scenes]
    return train, np.sort(chosen)


def _device(name: str) -> torch.device:
    found = torch.cuda.is_available()
    require(name != "cuda" or found, "There is no GPU that torch can use here: --device cpu.")
    return torch.device("cuda" if found and name != "cpu" else "cpu")
