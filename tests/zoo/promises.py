"""What a card promises of an encoder, checked on frames made here and now."""

import re
from pathlib import Path

import torch

from jostle.frames.reader import Frames
from jostle.particles.saving import load_encoder
from jostle.rollout.collection import Collection
from jostle.rollout.snapshots import Pace, collect
from jostle.zoo.shelf import Entry

SETTLED = 1 << 40


def hold_encoder_to_card(entry: Entry, folder: Path, frames: int = 90) -> None:
    """Compare pixels on frames like those learnt from, and sizes, with what the card says."""
    model, meta = load_encoder(entry.weights)
    card = entry.card.read_text()
    told = re.search(r"\| pixels \| ([0-9.e+-]+) \|", card)
    assert told is not None
    for asked in meta["history"][-1]["collected"]:
        made = {name: tuple(it) if isinstance(it, list) else it for name, it in asked.items()}
        collect(Collection(**made, truth=False), frames, folder, Pace(copies=5))
    there = Frames(folder)
    seen = torch.from_numpy(there.batch(range(0, len(there), 3)))
    entities, width = model.shape
    assert f"| {entities} per view, {width} features each |" in card
    values = model.encode(seen).values
    assert values.shape == (*seen.shape[:2], entities, width)
    assert values.isfinite().all()
    with torch.no_grad():
        pixels = model.loss(seen, SETTLED, torch.Generator().manual_seed(0))[1]["pixels"]
    assert float(pixels) < 2 * float(told.group(1))
