"""The columns of a latent particle; nobody else slices.

The order is that of the paper's released code (y, x, scale y, scale x, depth, features,
transparency), not that of its text, which puts transparency before the features. Places and scales
are vertical first. A place is in [-1, 1] where ±1 are the centers of the border pixels; a scale is
a logit, and its sigmoid is the part of the image's side that the particle covers.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import Entities
from jostle.core.errors import require

_WIDTHS = {"place": 2, "scale": 2, "depth": 1, "transparency": 1}
ATTRIBUTES = sum(_WIDTHS.values())
"""Columns besides the features."""


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

    def entities(self, threshold: float, hidden: Collection[str] = ("transparency",)) -> Entities:
        """Entities (..., K, D): those with transparency below `threshold` are not visible.

        Args:
            threshold: Transparency from which on a particle can be seen.
            hidden: Attributes that are no features of the entity; in the released code that is
                transparency, which is the mask.
        """
        told = {"scale": self.scale, "depth": self.values[..., 4:5], "features": self.features,
                "transparency": self.values[..., -1:]}  # fmt: skip
        shown = [part for name, part in told.items() if name not in hidden]
        return Entities(torch.cat([self.place, *shown], dim=-1), self.transparency >= threshold)


def pixels_of(values: NDArray[np.float32], side: int) -> NDArray[np.float64]:
    """Column and row (..., 2) of entities (..., D) in pictures of `side` x `side` pixels.

    The upper left corner of the picture is the origin: a pixel's center lies at half-integers.
    """
    return (values[..., 1::-1].astype(np.float64) + 1) / 2 * (side - 1) + 0.5


def shown_width(hidden: Collection[str]) -> int:
    """Columns of an entity besides the features, without the attributes that are hidden."""
    return sum(width for name, width in _WIDTHS.items() if name not in hidden)
