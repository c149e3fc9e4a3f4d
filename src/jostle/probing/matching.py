"""Which entity serves which object, and what entities sit on.

S scenes, V views, N objects, K entities per view. Distances are in pixels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError
from jostle.probing.looking import Flags, Floats, Sight
from jostle.probing.objects import FIRST, Known

NEAR_PX = 4.0
"""An object is recalled if what serves it is this near to its middle."""
TOUCH_PX = 2.0
"""A particle is on an object (or on the arm) if a pixel of it is this near."""
NOTHING, ARM, OBJECT = 0, 1, 2
"""What a particle can sit on."""


@dataclass(frozen=True)
class Service:
    """Who serves the objects; entries of objects that are not visible mean nothing."""

    entity: NDArray[np.int64]
    """Which entity, (S, V, N). Particles: the nearest visible one. Slots: the one that wins most
    of the object's visible pixels."""
    error: Floats
    """Distance of its place from the object's middle, (S, V, N); the diagonal of the image where
    nothing is visible at all."""
    recalled: Flags
    """Visible objects that are served from within `NEAR_PX`, (S, V, N)."""
    merged: Flags
    """Visible objects that share their entity with another visible one, (S, V, N).

    Particles: both middles lie in the particle's box. Slots: it wins more than half of the visible
    pixels of both.
    """


def serve(sight: Sight, known: Known) -> Service:
    """Find the entity that serves each object."""
    if sight.places is None:
        raise BadValueError("A vector has no places: nothing in it serves an object.")
    chosen = _by_pixels if sight.winners is not None else _by_distance
    entity, within = chosen(sight, known)
    blind = ~sight.visible.any(-1, keepdims=True)  # (S, V, 1)
    gap = np.linalg.norm(_at(sight.places, entity) - known.centers, axis=-1)  # (S, V, N)
    diagonal = float(np.hypot(*known.masks.shape[2:]))
    error = np.where(blind, diagonal, np.minimum(gap, diagonal))
    served = known.visible & within & ~blind
    same = (entity[..., :, None] == entity[..., None, :]) & ~np.eye(entity.shape[-1], dtype=bool)
    merged = served & (same & served[..., None, :]).any(-1)
    return Service(entity, error, known.visible & (error <= NEAR_PX), merged)


def _by_distance(sight: Sight, known: Known) -> tuple[NDArray[np.int64], Flags]:
    """The nearest visible particle, and whether its box holds the object's middle."""
    assert sight.places is not None
    assert sight.reach is not None
    gap = known.centers[..., :, None, :] - sight.places[..., None, :, :]  # (S, V, N, K, 2)
    distance = np.where(sight.visible[..., None, :], np.linalg.norm(gap, axis=-1), np.inf)
    entity = distance.argmin(-1)
    beside = np.abs(_at(sight.places, entity) - known.centers)  # (S, V, N, 2)
    return entity, np.asarray((beside <= _at(sight.reach, entity)).all(-1))


def _by_pixels(sight: Sight, known: Known) -> tuple[NDArray[np.int64], Flags]:
    """The slot that wins most pixels, and whether these are more than half."""
    assert sight.winners is not None
    won = pixels_won(sight.winners, known, sight.visible.shape[2])  # (S, V, N, K)
    return won.argmax(-1), 2 * won.max(-1) > known.pixels


def faint(sight: Sight, service: Service, known: Known) -> Flags:
    """Visible objects that are not recalled only because a particle within `NEAR_PX` is off."""
    assert sight.places is not None
    gap = known.centers[..., :, None, :] - sight.places[..., None, :, :]  # (S, V, N, K, 2)
    nearest = np.linalg.norm(gap, axis=-1).min(-1)
    return known.visible & ~service.recalled & (nearest <= NEAR_PX)


def pixels_won(winners: NDArray[np.uint8], known: Known, slots: int) -> NDArray[np.int64]:
    """How many visible pixels of each object each slot wins, (S, V, N, K)."""
    scene, view, row, column = np.nonzero(known.masks >= FIRST)
    label = known.masks[scene, view, row, column].astype(np.int64) - FIRST
    shape = (*known.visible.shape, slots + 1)  # the last is nobody
    index = np.ravel_multi_index((scene, view, label, winners[scene, view, row, column]), shape)
    return np.bincount(index, minlength=int(np.prod(shape))).reshape(shape)[..., :-1]


def grounds(sight: Sight, known: Known) -> NDArray[np.int64]:
    """What each entity sits on, (S, V, K): `OBJECT`, `ARM` or `NOTHING`, in this order.

    It sits on whatever has a pixel within `TOUCH_PX` of its place.
    """
    assert sight.places is not None
    height, width = known.masks.shape[2:]
    whole = int(TOUCH_PX) + 1
    steps = np.arange(-whole, whole + 1)
    offsets = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)  # (O, 2)
    away = np.clip(sight.places, -1e4, 1e4)
    pixel = np.rint(away)[..., None, :].astype(np.int64) + offsets  # (S, V, K, O, 2)
    near = np.linalg.norm(pixel - away[..., None, :], axis=-1) <= TOUCH_PX
    row, column = pixel[..., 0], pixel[..., 1]
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    scene = np.arange(len(away))[:, None, None, None]
    view = np.arange(away.shape[1])[:, None, None]
    label = known.masks[scene, view, row.clip(0, height - 1), column.clip(0, width - 1)]
    label = np.where(near & inside, label, 0)
    touched = np.where((label >= FIRST).any(-1), OBJECT, NOTHING)
    return np.where((touched == NOTHING) & (label == 1).any(-1), ARM, touched)


def places_of(sight: Sight, service: Service) -> Floats:
    """Where the entity is that serves each object, (S, V, N, 2)."""
    assert sight.places is not None
    return _at(sight.places, service.entity)


def features_of(sight: Sight, service: Service) -> NDArray[np.float32]:
    """What it looks like, (S, V, N, F)."""
    return np.take_along_axis(sight.features, service.entity[..., None], 2)


def _at(values: Floats, entity: NDArray[np.int64]) -> Floats:
    return np.take_along_axis(values, entity[..., None], 2)
