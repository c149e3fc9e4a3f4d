"""Ground truth of scenes: centers of the visible parts of objects, and which objects are static."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.frames.batches import Indices
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth, TruthBatch

MIN_VISIBLE = 0.3
"""Smallest fraction of its own pixels that a visible object shows."""
FIRST_OBJECT = 2
"""Label of the first object in masks; 0 is nothing and 1 the arm."""
FALLEN_HEIGHT = -0.01
"""Height above the table, in meters, below which an object has fallen off and is not counted."""
_STATIC_M = 3e-4
"""Largest movement of a static object from scene to scene, in meters."""


@dataclass(frozen=True)
class GroundTruth:
    """The ground truth of S scenes with up to N objects."""

    masks: NDArray[np.uint8]
    """What each pixel shows, (S, V, H, W): 0 nothing, 1 the arm, 2 + i object i."""
    visible: NDArray[np.bool_]
    """Objects on the table that are sufficiently visible, (S, V, N)."""
    unoccluded: NDArray[np.bool_]
    """Objects on the table that nothing occludes, (S, V, N)."""
    centers: NDArray[np.float64]
    """Mean row and column of an object's visible pixels, (S, V, N, 2)."""
    visible_px: NDArray[np.int64]
    """Number of its visible pixels, (S, V, N)."""
    table_positions: NDArray[np.float64]
    """x and y on the table in meters, (S, N, 2)."""
    colors: NDArray[np.int64]
    """Index in the folder's palette, (S, N); -1 for absent objects."""
    num_objects: NDArray[np.int64]
    """Objects in the scene, (S,)."""
    is_test: NDArray[np.bool_]
    """Scenes of the half of all episodes that probes are tested on; the others are fitted, (S,)."""
    next_index: NDArray[np.int64]
    """Index of the next scene of the same episode, (S,); -1 if there is none."""
    static: NDArray[np.bool_]
    """Objects that do not move until the next scene, (S, N)."""


def read_ground_truth(frames: Frames, truth: Truth, scenes: Indices) -> GroundTruth:
    """Read the ground truth of scenes, given by their indices in `frames`."""
    batch = truth.batch(scenes)
    centers, visible_px = object_centers(batch.masks, batch.present.shape[1])
    episode = np.stack((frames.collections[scenes], frames.episodes[scenes]), -1)
    _, number = np.unique(episode, axis=0, return_inverse=True)
    on_table = (batch.positions[..., 2] > FALLEN_HEIGHT)[:, None]  # (S, 1, N)
    next_index = _next_index(number.ravel(), frames.steps[scenes])
    return GroundTruth(
        masks=batch.masks,
        visible=batch.visible(MIN_VISIBLE) & on_table,
        unoccluded=batch.visible(1.0) & on_table,
        centers=centers,
        visible_px=visible_px,
        table_positions=batch.positions[..., :2].astype(np.float64),
        colors=batch.colors.astype(np.int64),
        num_objects=batch.present.sum(1),
        is_test=number.ravel() % 2 == 1,
        next_index=next_index,
        static=_static(batch, next_index),
    )


def object_centers(
    masks: NDArray[np.uint8], objects: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Mean row and column (S, V, N, 2) of the objects' pixels in masks, and their number."""
    shape = (*masks.shape[:2], objects)
    scene, view, row, column = np.nonzero(masks >= FIRST_OBJECT)
    label = masks[scene, view, row, column].astype(np.int64) - FIRST_OBJECT
    index = np.ravel_multi_index((scene, view, label), shape)
    size = int(np.prod(shape))
    count = np.bincount(index, minlength=size)
    means = [np.bincount(index, axis, size) / np.maximum(count, 1) for axis in (row, column)]
    return np.stack(means, -1).reshape(*shape, 2), count.reshape(shape)


def _next_index(episode: NDArray[np.int64], step: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.lexsort((step, episode))
    now, later = order[:-1], order[1:]
    consecutive = (episode[now] == episode[later]) & (step[now] + 1 == step[later])
    next_index = np.full(len(step), -1)
    next_index[now[consecutive]] = later[consecutive]
    return next_index


def _static(batch: TruthBatch, next_index: NDArray[np.int64]) -> NDArray[np.bool_]:
    moved = np.linalg.norm(batch.positions - batch.positions[next_index], axis=-1)  # (S, N)
    return batch.present & (moved < _STATIC_M) & (next_index >= 0)[:, None]
