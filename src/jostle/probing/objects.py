"""What scenes truly show: the middle of what is seen of each object, and who holds still."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.frames.batches import Indices
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth, TruthBatch

VISIBLE = 0.3
"""Share of its own pixels from which on an object counts as visible."""
FIRST = 2
"""Label of the first object in masks; 0 is nothing and 1 the arm."""
FALLEN = -0.01
"""Height above the table, in meters, below which an object has fallen off; nobody looks for it."""
_STILL = 3e-4
"""Meters that a resting object may move from scene to scene."""


@dataclass(frozen=True)
class Known:
    """The truth about S scenes with up to N objects."""

    masks: NDArray[np.uint8]
    """What each pixel shows, (S, V, H, W): 0 nothing, 1 the arm, 2 + i the object i."""
    visible: NDArray[np.bool_]
    """Objects on the table that show enough of themselves, (S, V, N)."""
    whole: NDArray[np.bool_]
    """Objects that nothing hides, (S, V, N)."""
    centers: NDArray[np.float64]
    """Mean row and column of an object's visible pixels, (S, V, N, 2)."""
    pixels: NDArray[np.int64]
    """Its visible pixels, (S, V, N)."""
    positions: NDArray[np.float64]
    """x and y on the table in meters, (S, N, 2)."""
    colors: NDArray[np.int64]
    """Numbers in the folder's palette, (S, N); -1 where nothing is."""
    counts: NDArray[np.int64]
    """Objects in the scene, (S,)."""
    scored: NDArray[np.bool_]
    """Scenes of the half of all episodes that probes are scored on; the others are fit, (S,)."""
    following: NDArray[np.int64]
    """Index of the next scene of the same episode, (S,); -1 where there is none."""
    resting: NDArray[np.bool_]
    """Objects that do not move until that scene, (S, N)."""


def know(frames: Frames, truth: Truth, scenes: Indices) -> Known:
    """Read the truth about scenes, given by their indices in `frames`."""
    batch = truth.batch(scenes)
    centers, pixels = centers_of(batch.masks, batch.present.shape[1])
    episode = np.stack((frames.collections[scenes], frames.episodes[scenes]), -1)
    _, number = np.unique(episode, axis=0, return_inverse=True)
    standing = (batch.positions[..., 2] > FALLEN)[:, None]  # (S, 1, N)
    following = _following(number.ravel(), frames.steps[scenes])
    return Known(
        masks=batch.masks,
        visible=batch.visible(VISIBLE) & standing,
        whole=batch.visible(1.0) & standing,
        centers=centers,
        pixels=pixels,
        positions=batch.positions[..., :2].astype(np.float64),
        colors=batch.colors.astype(np.int64),
        counts=batch.present.sum(1),
        scored=number.ravel() % 2 == 1,
        following=following,
        resting=_resting(batch, following),
    )


def centers_of(
    masks: NDArray[np.uint8], objects: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Mean row and column (S, V, N, 2) of the objects' pixels in masks, and how many there are."""
    shape = (*masks.shape[:2], objects)
    scene, view, row, column = np.nonzero(masks >= FIRST)
    label = masks[scene, view, row, column].astype(np.int64) - FIRST
    index = np.ravel_multi_index((scene, view, label), shape)
    size = int(np.prod(shape))
    pixels = np.bincount(index, minlength=size)
    sums = [np.bincount(index, along, size) / np.maximum(pixels, 1) for along in (row, column)]
    return np.stack(sums, -1).reshape(*shape, 2), pixels.reshape(shape)


def _following(episode: NDArray[np.int64], step: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.lexsort((step, episode))
    now, later = order[:-1], order[1:]
    joined = (episode[now] == episode[later]) & (step[now] + 1 == step[later])
    found = np.full(len(step), -1)
    found[now[joined]] = later[joined]
    return found


def _resting(batch: TruthBatch, following: NDArray[np.int64]) -> NDArray[np.bool_]:
    moved = np.linalg.norm(batch.positions - batch.positions[following], axis=-1)  # (S, N)
    return batch.present & (moved < _STILL) & (following >= 0)[:, None]
