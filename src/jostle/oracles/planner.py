"""Shortest ways for a point among axis-aligned rectangles, for many copies at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROUNDS = 4
"""Longest way considered, in segments beyond the first."""
_SKIN = 0.005
"""Corners stand this far off: who stops a little short of one already sees around it."""
_NEAR = 6
"""Rectangles whose corners are considered; all are avoided."""
BLOCKED = 1e6
"""Length of a way that does not exist."""


@dataclass(frozen=True)
class Ways:
    """The answer for P problems."""

    first: Floats
    """First corner of the shortest way, (P, 2); the goal itself when nothing is between."""
    length: Floats
    """Its length, (P,); BLOCKED when there is none."""


def shortest(
    start: Floats, goal: Floats, centers: Floats, halves: Floats, low: Floats, high: Floats
) -> Ways:
    """Find shortest ways.

    Args:
        start: (P, 2).
        goal: (P, 2).
        centers: Rectangles' centers, (P, R, 2); NaN for none.
        halves: Their half sizes, (P, R, 2).
        low: Lowest corner of the allowed region, (2,).
        high: Highest corner.
    """
    direct = np.linalg.norm(goal - start, axis=-1)  # (P,)
    first, length = goal.copy(), direct.copy()
    blocked = _crosses(start[:, None], goal[:, None], centers[:, None], halves[:, None])[:, 0]
    hard = np.flatnonzero(blocked)
    if len(hard):
        found = _around(start[hard], goal[hard], centers[hard], halves[hard], low, high)
        first[hard], length[hard] = found.first, found.length
    return Ways(first, length)


def _around(
    start: Floats, goal: Floats, centers: Floats, halves: Floats, low: Floats, high: Floats
) -> Ways:
    """Search the graph of corners that see each other."""
    signs = np.array(((-1, -1), (-1, 1), (1, -1), (1, 1)), dtype=float)
    near = _nearest(start, goal, centers)  # (P, r)
    rows = np.arange(len(start))[:, None]
    middles, reaches = centers[rows, near], halves[rows, near]  # (P, r, 2)
    corners = middles[:, :, None] + signs * (reaches[:, :, None] + _SKIN)  # (P, r, 4, 2)
    corners = corners.reshape(len(start), -1, 2)  # (P, 4r, 2)
    nodes = np.concatenate((start[:, None], goal[:, None], corners), axis=1)  # (P, M, 2)
    usable = ((corners >= low) & (corners <= high)).all(-1)  # NaN compares False
    usable &= ~_inside(corners, centers, halves)
    usable = np.concatenate((np.ones((len(start), 2), bool), usable), axis=1)  # (P, M)
    nodes = np.where(usable[..., None], nodes, 0.0)
    a, b = nodes[:, :, None], nodes[:, None]  # (P, M, 1, 2), (P, 1, M, 2)
    seen = ~_crosses(a, b, centers[:, None, None], halves[:, None, None])  # (P, M, M)
    seen &= usable[:, :, None] & usable[:, None]
    step = np.where(seen, np.linalg.norm(a - b, axis=-1), BLOCKED)  # (P, M, M)
    cost = step[:, :, 1]  # (P, M) to the goal
    for _ in range(_ROUNDS):
        cost = np.minimum(cost, (step + cost[:, None]).min(-1))
    through = step[:, 0] + cost  # (P, M)
    through[:, 0] = BLOCKED
    best = through.argmin(-1)
    length = np.minimum(through[rows[:, 0], best], BLOCKED)
    return Ways(np.where(length[:, None] < BLOCKED, nodes[rows[:, 0], best], goal), length)


def _nearest(start: Floats, goal: Floats, centers: Floats) -> NDArray[np.int64]:
    """Indices (P, r) of the rectangles nearest to the straight way: who else needs a detour?"""
    way = goal - start  # (P, 2)
    share = ((centers - start[:, None]) * way[:, None]).sum(-1)  # (P, R)
    share = share / np.maximum((way**2).sum(-1), 1e-12)[:, None]
    foot = start[:, None] + np.clip(share, 0, 1)[..., None] * way[:, None]
    gap = np.nan_to_num(np.linalg.norm(centers - foot, axis=-1), nan=np.inf)
    return np.argsort(gap, axis=-1, kind="stable")[:, :_NEAR]


def _inside(points: Floats, centers: Floats, halves: Floats) -> NDArray[np.bool_]:
    """Whether points (P, M, 2) lie inside any rectangle."""
    gap = np.abs(points[:, :, None] - centers[:, None]) - halves[:, None]  # (P, M, R, 2)
    hit = (gap[..., 0] < 0) & (gap[..., 1] < 0)  # (P, M, R)
    return np.asarray(hit.any(-1))


def _crosses(a: Floats, b: Floats, centers: Floats, halves: Floats) -> NDArray[np.bool_]:
    """Whether segments a-b (..., 2) cut the inside of any rectangle (..., R, 2)."""
    a, way = a[..., None, :] - centers, (b - a)[..., None, :]  # (..., R, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (-halves - a) / way, (halves - a) / way
    enter, leave = np.fmin(one, two), np.fmax(one, two)
    # A segment parallel to a slab is in it all along or never.
    within = np.abs(a) < halves
    still = np.abs(way) < 1e-12
    enter = np.where(still, np.where(within, -np.inf, np.inf), enter).max(-1)
    leave = np.where(still, np.where(within, np.inf, -np.inf), leave).min(-1)
    hit = np.maximum(enter, 0.0) < np.minimum(leave, 1.0) - 1e-9
    return hit.any(-1)
