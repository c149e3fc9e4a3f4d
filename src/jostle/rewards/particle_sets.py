"""Sets of particles as image rewards read them: positions, features, and which of them count.

Shapes: B any number of leading axes, V views, K particles per view, F features. Arrays are numpy or
torch; torch is imported only where tensors are met.
"""

from typing import Any, NamedTuple

import numpy as np

from jostle.core.entities import FEATURES, POSITION, Entities, EntityLayout
from jostle.core.errors import NotFiniteError, require

Array = Any
"""A numpy array or a torch tensor; what comes in goes out."""


class ParticleSet(NamedTuple):
    """One set of particles per sample and view."""

    positions: Array
    """In the image, (..., V, K, 2), in [-1, 1], or on the table in meters."""
    features: Array
    """Appearance, (..., V, K, F)."""
    kept: Array
    """Which particles count, (..., V, K) bool: those of objects, not of the arm."""


def particle_set(
    entities: Entities, layout: EntityLayout, kept: Array | None = None, columns: str = POSITION
) -> ParticleSet:
    """Read the particles of entities (..., V, K, D); invisible ones never count.

    Args:
        entities: Particles of an encoder, not normalized.
        layout: Which of their columns are what.
        kept: Which of them belong to objects, (..., V, K); all visible ones by default.
        columns: Group of columns with the positions.
    """
    require(
        FEATURES in layout and columns in layout,
        f"An image reward needs particles with the columns '{columns}' and '{FEATURES}', but these "
        f"entities have {', '.join(name for name, _ in layout.groups)}. Use an encoder with "
        "particles, such as dlp-6cubes.",
    )
    visible = entities.visible if kept is None else entities.visible & kept
    return ParticleSet(
        entities.values[..., layout[columns]], entities.values[..., layout[FEATURES]], visible
    )


def namespace(array: Array) -> Any:
    """The library of an array: numpy or torch."""
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def check_finite(*sets: ParticleSet) -> None:
    """Refuse NaN and infinity in positions and features, of all particles."""
    for particles in sets:
        for name, values in (("positions", particles.positions), ("features", particles.features)):
            finite = namespace(values).isfinite(values)
            if not bool(finite.all()):
                raise NotFiniteError(
                    f"The {name} of {int((~finite).sum())} particle columns are NaN or infinite. "
                    "An image reward needs finite particles: check the images and the encoder."
                )
