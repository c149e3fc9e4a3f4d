"""The columns of a latent particle; nobody else slices.

The order is that of the paper's released code (y, x, scale y, scale x, depth, features,
transparency), not that of its text, which puts transparency before the features. Places and scales
are vertical first. A place is in [-1, 1] where ±1 are the centers of the border pixels; a scale is
a logit, and its sigmoid is the part of the image's side that the particle covers.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.core.entities import Entities
from jostle.core.errors import require

ATTRIBUTES = 6
"""Columns besides the features: place 2, scale 2, depth 1, transparency 1."""


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
    def join(
        place: Tensor, scale: Tensor, depth: Tensor, features: Tensor, transparency: Tensor
    ) -> "Particles":
        """Put named parts in order; depth and transparency have no last axis of their own."""
        parts = (place, scale, depth[..., None], features, transparency[..., None])
        return Particles(torch.cat(parts, dim=-1))

    @property
    def place(self) -> Tensor:
        """Center in the image (z_p): vertical, horizontal; (..., K, 2)."""
        return self.values[..., 0:2]

    @property
    def scale(self) -> Tensor:
        """Logit of the size (z_s): vertical, horizontal; (..., K, 2)."""
        return self.values[..., 2:4]

    @property
    def boxes(self) -> Tensor:
        """Size as parts of the image's sides; (..., K, 2)."""
        return self.scale.sigmoid()

    @property
    def depth(self) -> Tensor:
        """Who covers whom (z_d): smaller is in front; (..., K)."""
        return self.values[..., 4]

    @property
    def features(self) -> Tensor:
        """What it looks like (z_f); (..., K, l)."""
        return self.values[..., 5:-1]

    @property
    def transparency(self) -> Tensor:
        """How much it is there (z_t): 0 is not at all, 1 is fully; (..., K)."""
        return self.values[..., -1]

    def entities(self, threshold: float, keep_transparency: bool = False) -> Entities:
        """Entities (..., K, D): those with transparency below `threshold` are not visible.

        As in the released code, transparency is the mask and no feature, unless it is kept.
        """
        visible = self.transparency >= threshold
        return Entities(self.values if keep_transparency else self.values[..., :-1], visible)
