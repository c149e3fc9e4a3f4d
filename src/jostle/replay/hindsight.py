"""Which later step becomes the goal. Indices in, indices out: no storage, no rewards."""

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


def last_step_on_table(achieved: NDArray[np.float32], half_size: NDArray[np.float32]) -> Index:
    """Find the last step (B,) of each episode before any object leaves the table.

    Args:
        achieved: Positions of the objects of the episodes, (B, T+1, N, w), x and y first.
        half_size: Half the table's sides, (2,).
    """
    off_table = np.any(np.abs(achieved[..., :2]) > half_size, axis=(2, 3))  # (B, T+1)
    return np.where(off_table.any(1), off_table.argmax(1), off_table.shape[1]) - 1


def future(step: Index, last: Index, rng: np.random.Generator) -> Index:
    """Pick, for each transition at `step`, a later step in [step + 1, last], uniformly.

    Args:
        step: Index of the transition inside its episode, any shape.
        last: Latest step that may become a goal, of the same shape.
        rng: Source of randomness.
    """
    return step + 1 + (rng.random(step.shape) * (last - step)).astype(np.int64)


def last_allowed(allowed: NDArray[np.bool_]) -> Index:
    """Find the last step (B,) that may become a goal, by (B, T+1); 0 where none may."""
    steps = allowed.shape[1] - 1
    return np.where(allowed.any(1), steps - allowed[:, ::-1].argmax(1), 0)


def future_allowed(step: Index, allowed: NDArray[np.bool_], rng: np.random.Generator) -> Index:
    """Pick, for each transition at `step` (B,), a later step among the allowed ones, uniformly.

    Args:
        step: Index of the transition inside its episode, (B,).
        allowed: Which steps may become goals, (B, T+1); at least one of them is later.
        rng: Source of randomness.
    """
    later = allowed & (np.arange(allowed.shape[1]) > step[:, None])  # (B, T+1)
    count = later.cumsum(1)
    chosen = (rng.random(step.shape) * count[:, -1]).astype(np.int64)  # (B,)
    return (count > chosen[:, None]).argmax(1)


def future_render(step: Index, every: int, count: Index, rng: np.random.Generator) -> Index:
    """Pick, for each transition at `step`, a later one of `count` images taken every few steps.

    Returns:
        Indices of images; image k was taken after step (k + 1) * every.
    """
    first = step // every
    return first + (rng.random(step.shape) * (count - first)).astype(np.int64)


def per_object(
    step: Index,
    last: Index,
    achieved: NDArray[np.float32],
    min_separation: float,
    rng: np.random.Generator,
) -> Index:
    """Pick a later step for every object by itself, (B, N), unless goals would overlap.

    Args:
        step: Index of the transition inside its episode, (B,).
        last: Latest step that may become a goal, (B,).
        achieved: Coordinates of the episodes of these transitions, (B, T+1, N, w).
        min_separation: Least distance of two goals, in meters; closer goals use one step for all.
        rng: Source of randomness.
    """
    count = achieved.shape[2]
    steps = future(np.repeat(step[:, None], count, axis=1), last[:, None], rng)  # (B, N)
    batch, objects = np.arange(len(step))[:, None], np.arange(count)
    positions = achieved[batch, steps, objects][..., :2]  # (B, N, 2)
    overlapping = overlap(positions, min_separation)[:, None]
    return np.where(overlapping, steps[:, :1], steps)


def overlap(positions: NDArray[np.float32], min_separation: float) -> NDArray[np.bool_]:
    """Whether any two of the goals (B, N, 2) of a sample are closer than this, (B,)."""
    distance = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=-1)  # (B, N, N)
    objects = np.arange(positions.shape[1])
    distance[:, objects, objects] = np.inf
    close: NDArray[np.bool_] = distance.min((1, 2)) < min_separation
    return close
