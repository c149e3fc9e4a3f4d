"""Checks an encoder against its model card, on newly collected frames."""

import re
from pathlib import Path

import torch

from jostle.encoders.saving import load_encoder
from jostle.frames.reader import Frames
from jostle.rollout.frame_collector import CollectOptions, collect_frames
from jostle.rollout.frame_dataset import FrameDatasetSpec
from jostle.zoo.registry import ModelEntry

LATE_STEP = 1 << 40
"""A training step after all warm-ups of the loss."""


def check_encoder_card(entry: ModelEntry, folder: Path, frames: int = 90) -> None:
    """Compare the loss on frames like those of the training, and the sizes, with the card."""
    model, meta = load_encoder(entry.weights)
    card = entry.card.read_text()
    stated = re.search(r"\| reconstruction loss \| ([0-9.e+-]+) \|", card)
    assert stated is not None
    for spec in meta["history"][-1]["collected"]:
        options = {
            name: tuple(value) if isinstance(value, list) else value for name, value in spec.items()
        }
        dataset = FrameDatasetSpec(**options, truth=False)
        collect_frames(dataset, frames, folder, CollectOptions(num_envs=5))
    collected = Frames(folder)
    batch = torch.from_numpy(collected.batch(range(0, len(collected), 3)))
    entities, width = model.shape
    assert f"| {entities} per view, {width} features each |" in card
    values = model.encode(batch).values
    assert values.shape == (*batch.shape[:2], entities, width)
    assert values.isfinite().all()
    with torch.no_grad():
        pixels = model.loss(batch, LATE_STEP, torch.Generator().manual_seed(0))[1]["reconstruction"]
    assert float(pixels) < 2 * float(stated.group(1))
