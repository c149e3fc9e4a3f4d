"""How well an encoder does on scenes of other episodes; the same answer every time."""

import torch

from jostle.core.protocols import Encoder
from jostle.core.seeding import SeedTree
from jostle.pretraining.components import Components

_AFTER_WARMUP = 1 << 40
"""A step beyond every warm-up: so the loss always means the same."""


@torch.no_grad()
def validate(model: Encoder, components: Components) -> dict[str, float]:
    """Means of the loss and its terms over the validation scenes, always with the same noise."""
    config, scenes = components.config, components.validation
    sums: dict[str, float] = {}
    noise = torch.Generator(components.device)
    noise.manual_seed(SeedTree(config.seed).integer("validation noise"))
    for first in range(0, len(scenes), config.batch_size):
        frames = components.read(scenes[first : first + config.batch_size])
        for name, value in model.loss(frames, _AFTER_WARMUP, noise)[1].items():
            sums[name] = sums.get(name, 0.0) + float(value) * len(frames)
    return {f"val_{name}": value / len(scenes) for name, value in sums.items()}
