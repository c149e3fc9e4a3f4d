"""How well an encoder does on scenes kept apart; the same answer every time."""

import torch

from jostle.core.seeding import SeedTree
from jostle.particles.catalog import Model
from jostle.pretraining.bench import Bench

_SETTLED = 1 << 40
"""A step beyond every warm-up: so the loss means the same thing all the time."""


@torch.no_grad()
def validate(model: Model, bench: Bench) -> dict[str, float]:
    """Means of the loss and its parts over a bench's validation, with the same noise every time."""
    sums: dict[str, float] = {}
    noise = torch.Generator(bench.device)
    noise.manual_seed(SeedTree(bench.plan.seed).integer("validation noise"))
    for first in range(0, len(bench.validation), bench.plan.batch):
        frames = bench.read(bench.validation[first : first + bench.plan.batch])
        for name, value in model.loss(frames, _SETTLED, noise)[1].items():
            sums[name] = sums.get(name, 0.0) + float(value) * len(frames)
    return {f"val_{name}": value / len(bench.validation) for name, value in sums.items()}
