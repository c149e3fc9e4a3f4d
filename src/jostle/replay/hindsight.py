"""Which future moment becomes the goal. Indices in, indices out: no storage, no rewards."""

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


def upheld(achieved: NDArray[np.float32], edge: NDArray[np.float32]) -> Index:
    """Find the last moment (B,) of each episode until which every object lay on the table.

    Args:
        achieved: Places of the episodes, (B, T+1, N, w), x and y first.
        edge: Half the table's sides, (2,).
    """
    beside = np.any(np.abs(achieved[..., :2]) > edge, axis=(2, 3))  # (B, T+1)
    return np.where(beside.any(1), beside.argmax(1), beside.shape[1]) - 1


def future(step: Index, last: Index, rng: np.random.Generator) -> Index:
    """Pick, for each transition at `step`, a later moment in [step + 1, last], uniformly.

    Args:
        step: Index of the transition inside its episode, any shape.
        last: Latest moment that may become a goal, of the same shape.
        rng: Source of randomness.
    """
    return step + 1 + (rng.random(step.shape) * (last - step)).astype(np.int64)


def photographed(step: Index, every: int, count: Index, rng: np.random.Generator) -> Index:
    """Pick, for each transition at `step`, a later picture out of `count` taken `every` so many.

    Returns:
        Indices of pictures; the k-th shows the moment (k + 1) * every.
    """
    first = step // every
    return first + (rng.random(step.shape) * (count - first)).astype(np.int64)


def per_object(
    step: Index,
    last: Index,
    achieved: NDArray[np.float32],
    apart: float,
    rng: np.random.Generator,
) -> Index:
    """Pick a moment of its own for every object, (B, N), unless goals would overlap.

    Args:
        step: (B,).
        last: Latest moment that may become a goal, (B,).
        achieved: Coordinates of the episodes of these transitions, (B, T+1, N, w).
        apart: Least distance between two goals, in meters; nearer ones fall back to one moment.
        rng: Source of randomness.
    """
    count = achieved.shape[2]
    moments = future(np.repeat(step[:, None], count, axis=1), last[:, None], rng)  # (B, N)
    rows, objects = np.arange(len(step))[:, None], np.arange(count)
    places = achieved[rows, moments, objects][..., :2]  # (B, N, 2)
    gap = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)  # (B, N, N)
    gap[:, objects, objects] = np.inf
    crowded = gap.min((1, 2)) < apart
    return np.where(crowded[:, None], moments[:, :1], moments)
