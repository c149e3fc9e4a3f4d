"""Samples with a view less, so that an agent of several cameras learns to act without one."""

from collections.abc import Sequence

import numpy as np
import torch

from jostle.core.entities import Entities


def drop_views(
    sets: Sequence[Entities], fraction: float, rng: np.random.Generator
) -> list[Entities]:
    """Hide one view of some samples: the same one in all sets, tensors of (B, V, K, D).

    Nothing is drawn, and nothing is copied, if the fraction is 0.
    """
    if fraction == 0:
        return list(sets)
    batch, views = sets[0].visible.shape[:2]
    dropped = np.where(rng.random(batch) < fraction, rng.integers(0, views, batch), -1)  # (B,)
    kept = torch.from_numpy(dropped[:, None] != np.arange(views))[..., None]  # (B, V, 1)
    return [Entities(entities.values, entities.visible & kept) for entities in sets]
