"""Plane geometry of contacts between T-blocks and a gripper of fixed orientation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

GRIPPER = np.array((0.0105, 0.0265))
"""Half sizes of the gripper's footprint along x and y."""
_BAR_CENTERS = np.array(((0.0, 0.0), (0.045, 0.0)))
"""Centers of crossbar and stem in the block's frame."""
_BAR_HALVES = np.array(((0.015, 0.045), (0.03, 0.01)))
_TINY = 1e-9


# Configuration space: the gripper becomes a point, and each of a block's two bars grows by the
# gripper's box, which makes it an octagon. An octagon is stored as eight half-planes.


@dataclass(frozen=True)
class Octagons:
    """Convex sets {x: normals·x < offsets}, with any leading shape."""

    normals: Array
    """(..., 8, 2)"""
    offsets: Array
    """(..., 8)"""

    def beyond(self, points: Array) -> Array:
        """How far points (..., 2) lie beyond each half-plane, (..., 8)."""
        distances: Array = np.einsum("...ij,...j->...i", self.normals, points) - self.offsets
        return distances

    def shrunk_to_exclude(self, points: Array) -> "Octagons":
        """Shrink the sets until they do not contain their points (..., 2)."""
        depth = np.maximum(1e-4 - self.beyond(points).max(-1), 0.0)
        return Octagons(self.normals, self.offsets - depth[..., None])

    def exit(self, start: Array, direction: Array) -> Array:
        """Find where the line start + t·direction leaves the sets: t, or -inf if it misses them."""
        speed = np.einsum("...ij,...j->...i", self.normals, direction)
        gap = -self.beyond(start)
        parallel = np.abs(speed) < _TINY
        time = gap / np.where(parallel, 1.0, speed)
        enter = np.where(parallel | (speed > 0), -np.inf, time).max(-1)
        leave = np.where(parallel | (speed < 0), np.inf, time).min(-1)
        missed = (enter >= leave) | (parallel & (gap <= 0)).any(-1)
        return np.where(missed, -np.inf, leave)


def rotate(vectors: Array, yaw: Array) -> Array:
    """Rotate vectors (..., 2) by angles (...)."""
    sine, cosine = np.sin(yaw), np.cos(yaw)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack((cosine * x - sine * y, sine * x + cosine * y), axis=-1)


def octagons(origin: Array, yaw: Array, margin: float) -> Octagons:
    """Grow both bars of blocks at origin (..., 2), yaw (...) by gripper and margin: (..., 2, 8)."""
    normals, bars = _directions(yaw, np.zeros_like(yaw))
    center = origin[..., None, :] + rotate(_BAR_CENTERS, yaw[..., None])  # (..., 2, 2)
    offsets = np.einsum("...ij,...kj->...ki", normals, center)
    offsets += np.einsum("...ij,kj->...ki", np.abs(bars), _BAR_HALVES)
    offsets += np.einsum("...ij,j->...i", np.abs(normals), GRIPPER + margin)[..., None, :]
    return Octagons(np.repeat(normals[..., None, :, :], 2, axis=-3), offsets)


def corners(origin: Array, yaw: Array, margin: float) -> Array:
    """List the corners of the grown bars, (..., 2, 8, 2)."""
    # A corner is the farthest point in the direction halfway between two neighboring normals.
    quarter = yaw % (np.pi / 2)
    outward, bars = _directions(quarter / 2 + np.pi / 4, quarter / 2, yaw)
    center = origin[..., None, :] + rotate(_BAR_CENTERS, yaw[..., None])
    extent = np.sign(bars)[..., None, :, :] * _BAR_HALVES[:, None]  # (..., 2, 8, 2)
    bar = rotate(extent, yaw[..., None, None])
    return center[..., None, :] + bar + (np.sign(outward) * (GRIPPER + margin))[..., None, :, :]


def _directions(first: Array, second: Array, yaw: Array | None = None) -> tuple[Array, Array]:
    """Two crosses of unit vectors (..., 8, 2), in the world's and in the blocks' frames."""
    quarters = np.arange(4) * (np.pi / 2)
    angles = np.concatenate((first[..., None] + quarters, second[..., None] + quarters), axis=-1)
    vectors = np.stack((np.cos(angles), np.sin(angles)), axis=-1)
    return vectors, rotate(vectors, -(first if yaw is None else yaw)[..., None])


def crosses(start: Array, end: Array, sets: Octagons) -> Mask:
    """Whether segments between points (..., 2) pass through their sets (..., 8)."""
    first, last = sets.beyond(start), sets.beyond(end)  # (..., 8)
    change = first - last
    time = first / np.where(np.abs(change) < _TINY, 1.0, change)
    enter = np.where((first > 0) & (last <= 0), time, 0.0).max(-1)
    leave = np.where((first <= 0) & (last > 0), time, 1.0).min(-1)
    hit: Mask = ~((first > 0) & (last > 0)).any(-1) & (enter < leave)
    return hit
