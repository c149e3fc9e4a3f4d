"""The columns of a latent particle; no other module slices them by number.

The order is that of the paper's released code (y, x, scale y, scale x, depth, features, opacity),
not that of its text, which puts opacity before the features. Positions and scales are vertical
first. A position is in [-1, 1], where ±1 are the centers of the border pixels; a scale is a logit,
and its sigmoid is the fraction of the image's side that the particle covers.

Opacity is the paper's transparency z_t: 1 means fully visible.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import (
    DEPTH,
    FEATURES,
    OPACITY,
    POSITION,
    SCALE,
    Entities,
    EntityLayout,
)
from jostle.core.errors import require

ATTRIBUTES = 6
"""Columns besides the features: position, scale, depth and opacity."""


@dataclass(frozen=True)
class Particles:
    """Sets of particles as one tensor."""

    values: Tensor
    """All columns, (..., K, D)."""

    def __post_init__(self) -> None:
        """Refuse a last axis that cannot hold a particle."""
        shape = tuple(self.values.shape)
        require(
            len(shape) >= 2 and shape[-1] > ATTRIBUTES,
            f"A particle has {ATTRIBUTES} attributes and at least 1 feature, but the last axis of "
            f"{shape} has {shape[-1] if shape else 0}. Is the batch transposed?",
        )

    @staticmethod
    def from_parts(
        position: Tensor, scale: Tensor, depth: Tensor, features: Tensor, opacity: Tensor
    ) -> "Particles":
        """Concatenate the attributes; depth and opacity are (..., K), without a last axis."""
        parts = (position, scale, depth[..., None], features, opacity[..., None])
        return Particles(torch.cat(parts, dim=-1))

    @property
    def position(self) -> Tensor:
        """Center in the image (z_p): vertical, horizontal; (..., K, 2)."""
        return self.values[..., 0:2]

    @property
    def scale(self) -> Tensor:
        """Logit of the size (z_s): vertical, horizontal; (..., K, 2)."""
        return self.values[..., 2:4]

    @property
    def boxes(self) -> Tensor:
        """Size as fractions of the image's sides; (..., K, 2)."""
        return self.scale.sigmoid()

    @property
    def depth(self) -> Tensor:
        """Depth (z_d): a smaller value is in front; (..., K)."""
        return self.values[..., 4]

    @property
    def features(self) -> Tensor:
        """Appearance features (z_f); (..., K, l)."""
        return self.values[..., 5:-1]

    @property
    def opacity(self) -> Tensor:
        """Opacity (the paper's transparency z_t): 0 is absent, 1 is fully visible; (..., K)."""
        return self.values[..., -1]

    def to_entities(self, threshold: float, dropped: Collection[str] = (OPACITY,)) -> Entities:
        """Entities (..., K, D'): particles with opacity below `threshold` are not visible.

        Args:
            threshold: Smallest opacity of a visible particle.
            dropped: Column groups left out of the entities; the released code drops opacity,
                which becomes the mask.
        """
        groups = {
            POSITION: self.position,
            SCALE: self.scale,
            DEPTH: self.depth[..., None],
            FEATURES: self.features,
            OPACITY: self.opacity[..., None],
        }
        kept = [columns for name, columns in groups.items() if name not in dropped]
        return Entities(torch.cat(kept, dim=-1), self.opacity >= threshold)


def entity_layout(features: int, dropped: Collection[str]) -> EntityLayout:
    """Columns of the entities that `Particles.to_entities` makes of particles with features."""
    groups = ((POSITION, 2), (SCALE, 2), (DEPTH, 1), (FEATURES, features), (OPACITY, 1))
    return EntityLayout(tuple(group for group in groups if group[0] not in dropped))


def pixel_positions(values: NDArray[np.float32], side: int) -> NDArray[np.float64]:
    """Column and row (..., 2) of particle entities (..., D) in images of `side` x `side` pixels.

    The upper left corner of the image is the origin: pixel centers lie at half-integers.
    """
    return (values[..., 1::-1].astype(np.float64) + 1) / 2 * (side - 1) + 0.5
