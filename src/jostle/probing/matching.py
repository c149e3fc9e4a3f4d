"""Matching of entities to objects, and what each entity lies on.

S scenes, V views, N objects, K entities per view. Distances are in pixels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError
from jostle.probing.detections import Detections, Flags, Floats
from jostle.probing.ground_truth import FIRST_OBJECT, GroundTruth

MATCH_PX = 4.0
"""An object is matched if its entity is within this distance of its center."""
TOUCH_PX = 2.0
"""An entity lies on an object (or on the arm) if a pixel of it is within this distance."""
NOTHING, ARM, OBJECT = 0, 1, 2
"""What an entity can lie on."""


@dataclass(frozen=True)
class Assignment:
    """The entity assigned to each object; only entries of visible objects are meaningful."""

    entity: NDArray[np.int64]
    """Index of the entity, (S, V, N). Particles: the nearest visible one. Slots: the one with most
    of the object's visible pixels."""
    error: Floats
    """Distance of its position from the object's center, (S, V, N); the diagonal of the image if no
    entity is visible."""
    matched: Flags
    """Visible objects whose entity is within `MATCH_PX`, (S, V, N)."""
    merged: Flags
    """Visible objects that share their entity with another visible one, (S, V, N).

    Particles: both centers lie in the particle's box. Slots: it has more than half of the visible
    pixels of both.
    """


def match(detections: Detections, truth: GroundTruth) -> Assignment:
    """Assign an entity to each object."""
    if detections.positions is None:
        raise BadValueError("Vectors have no positions: they cannot be matched to objects.")

    # Nearest particle, or slot with most pixels
    assign = _by_pixels if detections.slot_argmax is not None else _by_distance
    entity, covers = assign(detections, truth)

    # Distances
    nothing_visible = ~detections.visible.any(-1, keepdims=True)  # (S, V, 1)
    gap = np.linalg.norm(_take(detections.positions, entity) - truth.centers, axis=-1)  # (S, V, N)
    diagonal = float(np.hypot(*truth.masks.shape[2:]))
    error = np.where(nothing_visible, diagonal, np.minimum(gap, diagonal))

    # Objects that share an entity
    covered = truth.visible & covers & ~nothing_visible
    same = (entity[..., :, None] == entity[..., None, :]) & ~np.eye(entity.shape[-1], dtype=bool)
    merged = covered & (same & covered[..., None, :]).any(-1)
    return Assignment(entity, error, truth.visible & (error <= MATCH_PX), merged)


def _by_distance(detections: Detections, truth: GroundTruth) -> tuple[NDArray[np.int64], Flags]:
    """The nearest visible particle, and whether its box contains the object's center."""
    assert detections.positions is not None
    assert detections.half_extent is not None
    gap = truth.centers[..., :, None, :] - detections.positions[..., None, :, :]  # (S, V, N, K, 2)
    distance = np.where(detections.visible[..., None, :], np.linalg.norm(gap, axis=-1), np.inf)
    entity = distance.argmin(-1)
    offset = np.abs(_take(detections.positions, entity) - truth.centers)  # (S, V, N, 2)
    return entity, np.asarray((offset <= _take(detections.half_extent, entity)).all(-1))


def _by_pixels(detections: Detections, truth: GroundTruth) -> tuple[NDArray[np.int64], Flags]:
    """The slot with most of the object's pixels, and whether it has more than half of them."""
    assert detections.slot_argmax is not None
    slots = detections.visible.shape[2]
    counts = pixels_per_slot(detections.slot_argmax, truth, slots)  # (S, V, N, K)
    return counts.argmax(-1), 2 * counts.max(-1) > truth.visible_px


def below_threshold(detections: Detections, assignment: Assignment, truth: GroundTruth) -> Flags:
    """Visible objects, not matched, with a particle of too low opacity within `MATCH_PX`."""
    assert detections.positions is not None
    gap = truth.centers[..., :, None, :] - detections.positions[..., None, :, :]  # (S, V, N, K, 2)
    nearest = np.linalg.norm(gap, axis=-1).min(-1)
    return truth.visible & ~assignment.matched & (nearest <= MATCH_PX)


def pixels_per_slot(
    slot_argmax: NDArray[np.uint8], truth: GroundTruth, slots: int
) -> NDArray[np.int64]:
    """How many visible pixels of each object each slot has, (S, V, N, K)."""
    scene, view, row, column = np.nonzero(truth.masks >= FIRST_OBJECT)
    label = truth.masks[scene, view, row, column].astype(np.int64) - FIRST_OBJECT
    slot = slot_argmax[scene, view, row, column]
    shape = (*truth.visible.shape, slots + 1)  # the last one is the background
    index = np.ravel_multi_index((scene, view, label, slot), shape)
    return np.bincount(index, minlength=int(np.prod(shape))).reshape(shape)[..., :-1]


def label_entities(detections: Detections, truth: GroundTruth) -> NDArray[np.int64]:
    """What each entity lies on, (S, V, K): `OBJECT`, `ARM` or `NOTHING`, in this order.

    An entity lies on whatever has a pixel within `TOUCH_PX` of its position.
    """
    assert detections.positions is not None
    height, width = truth.masks.shape[2:]

    # Pixels around each position
    radius = int(TOUCH_PX) + 1
    steps = np.arange(-radius, radius + 1)
    offsets = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)  # (O, 2)
    positions = np.clip(detections.positions, -1e4, 1e4)
    pixel = np.rint(positions)[..., None, :].astype(np.int64) + offsets  # (S, V, K, O, 2)
    near = np.linalg.norm(pixel - positions[..., None, :], axis=-1) <= TOUCH_PX
    row, column = pixel[..., 0], pixel[..., 1]
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)

    # Their labels
    scene = np.arange(len(positions))[:, None, None, None]
    view = np.arange(positions.shape[1])[:, None, None]
    label = truth.masks[scene, view, row.clip(0, height - 1), column.clip(0, width - 1)]
    label = np.where(near & inside, label, 0)
    touched = np.where((label >= FIRST_OBJECT).any(-1), OBJECT, NOTHING)
    return np.where((touched == NOTHING) & (label == 1).any(-1), ARM, touched)


def matched_positions(detections: Detections, assignment: Assignment) -> Floats:
    """Position of the entity assigned to each object, (S, V, N, 2)."""
    assert detections.positions is not None
    return _take(detections.positions, assignment.entity)


def matched_features(detections: Detections, assignment: Assignment) -> NDArray[np.float32]:
    """Features of the entity assigned to each object, (S, V, N, F)."""
    return np.take_along_axis(detections.features, assignment.entity[..., None], 2)


def _take(values: Floats, entity: NDArray[np.int64]) -> Floats:
    return np.take_along_axis(values, entity[..., None], 2)
