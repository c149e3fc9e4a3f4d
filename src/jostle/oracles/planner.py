"""Shortest paths of a point among axis-aligned rectangles, for many problems at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MAX_BENDS = 4
"""Most segments of a path beyond the first."""
_CORNER_OFFSET = 0.005
"""Waypoints lie this far outside the corners, so that a gripper that stops a little short of one
already has a free line to the next."""
_MAX_CORNER_RECTANGLES = 6
"""Rectangles whose corners are waypoints; paths avoid all rectangles."""
BLOCKED = 1e6
"""Length of a path that does not exist."""


@dataclass(frozen=True)
class Paths:
    """Shortest paths of P problems."""

    first: Floats
    """First waypoint of each path, (P, 2); the goal itself if the straight line is free."""
    length: Floats
    """Length of each path, (P,); BLOCKED if there is none."""


def shortest_paths(
    start: Floats, goal: Floats, centers: Floats, halves: Floats, low: Floats, high: Floats
) -> Paths:
    """Find shortest paths.

    Args:
        start: (P, 2).
        goal: (P, 2).
        centers: Centers of the rectangles, (P, R, 2); NaN for none.
        halves: Half sizes of the rectangles, (P, R, 2).
        low: Lowest corner of the allowed region, (2,).
        high: Highest corner of the allowed region.
    """
    straight = np.linalg.norm(goal - start, axis=-1)  # (P,)
    first, length = goal.copy(), straight.copy()
    crossed = _crosses(start[:, None], goal[:, None], centers[:, None], halves[:, None])[:, 0]
    blocked = np.flatnonzero(crossed)
    if len(blocked):
        obstacles = centers[blocked], halves[blocked]
        detours = _detours(start[blocked], goal[blocked], *obstacles, low, high)
        first[blocked], length[blocked] = detours.first, detours.length
    return Paths(first, length)


def _detours(
    start: Floats, goal: Floats, centers: Floats, halves: Floats, low: Floats, high: Floats
) -> Paths:
    """Search the visibility graph of start, goal and corners."""
    # Nodes
    signs = np.array(((-1, -1), (-1, 1), (1, -1), (1, 1)), dtype=float)
    near = _nearest_rectangles(start, goal, centers)  # (P, r)
    problems = np.arange(len(start))[:, None]
    near_centers, near_halves = centers[problems, near], halves[problems, near]  # (P, r, 2)
    corners = near_centers[:, :, None] + signs * (near_halves[:, :, None] + _CORNER_OFFSET)
    corners = corners.reshape(len(start), -1, 2)  # (P, 4r, 2)
    nodes = np.concatenate((start[:, None], goal[:, None], corners), axis=1)  # (P, M, 2)
    usable = ((corners >= low) & (corners <= high)).all(-1)  # NaN compares False
    usable &= ~_inside(corners, centers, halves)
    usable = np.concatenate((np.ones((len(start), 2), bool), usable), axis=1)  # (P, M)
    nodes = np.where(usable[..., None], nodes, 0.0)

    # Edges
    a, b = nodes[:, :, None], nodes[:, None]  # (P, M, 1, 2), (P, 1, M, 2)
    visible = ~_crosses(a, b, centers[:, None, None], halves[:, None, None])  # (P, M, M)
    visible &= usable[:, :, None] & usable[:, None]
    edges = np.where(visible, np.linalg.norm(a - b, axis=-1), BLOCKED)  # (P, M, M)

    # Distances to the goal, by dynamic programming over the number of segments
    cost = edges[:, :, 1]  # (P, M)
    for _ in range(_MAX_BENDS):
        cost = np.minimum(cost, (edges + cost[:, None]).min(-1))
    through = edges[:, 0] + cost  # (P, M)
    through[:, 0] = BLOCKED
    best = through.argmin(-1)
    length = np.minimum(through[problems[:, 0], best], BLOCKED)
    return Paths(np.where(length[:, None] < BLOCKED, nodes[problems[:, 0], best], goal), length)


def _nearest_rectangles(start: Floats, goal: Floats, centers: Floats) -> NDArray[np.int64]:
    """Indices (P, r) of the rectangles nearest to the straight line from start to goal."""
    line = goal - start  # (P, 2)
    fraction = ((centers - start[:, None]) * line[:, None]).sum(-1)  # (P, R)
    fraction = fraction / np.maximum((line**2).sum(-1), 1e-12)[:, None]
    foot = start[:, None] + np.clip(fraction, 0, 1)[..., None] * line[:, None]
    distance = np.nan_to_num(np.linalg.norm(centers - foot, axis=-1), nan=np.inf)
    return np.argsort(distance, axis=-1, kind="stable")[:, :_MAX_CORNER_RECTANGLES]


def _inside(points: Floats, centers: Floats, halves: Floats) -> NDArray[np.bool_]:
    """Whether points (P, M, 2) lie inside any rectangle."""
    gap = np.abs(points[:, :, None] - centers[:, None]) - halves[:, None]  # (P, M, R, 2)
    hit = (gap[..., 0] < 0) & (gap[..., 1] < 0)  # (P, M, R)
    return np.asarray(hit.any(-1))


def _crosses(a: Floats, b: Floats, centers: Floats, halves: Floats) -> NDArray[np.bool_]:
    """Whether segments a-b (..., 2) cross the inside of any rectangle (..., R, 2)."""
    a, line = a[..., None, :] - centers, (b - a)[..., None, :]  # (..., R, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (-halves - a) / line, (halves - a) / line
    enter, leave = np.fmin(low, high), np.fmax(low, high)
    # A segment parallel to a slab is inside all along or never.
    within = np.abs(a) < halves
    parallel = np.abs(line) < 1e-12
    enter = np.where(parallel, np.where(within, -np.inf, np.inf), enter).max(-1)
    leave = np.where(parallel, np.where(within, np.inf, -np.inf), leave).min(-1)
    hit = np.maximum(enter, 0.0) < np.minimum(leave, 1.0) - 1e-9
    return hit.any(-1)
