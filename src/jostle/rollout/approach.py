"""Heading straight for an object: how training explores, with the true places in every lane."""

import numpy as np
from numpy.typing import NDArray

from jostle.scene.drive import REACH_PER_UNIT

_THROUGH = 0.04
"""Shortest stride of an approach, in meters: it does not end at the object's center."""

_AHEAD = 0.08
"""How far an object may be pushed before somebody looks again, in meters."""


def present(rows: NDArray[np.float32], padded: bool) -> NDArray[np.bool_]:
    """Which rows (B, K, F) of true state are there; padded ones say so in their last column."""
    return rows[..., -1] > 0.5 if padded else np.ones(rows.shape[:2], bool)


def spared(rows: NDArray[np.float32], edge: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which objects (B, N) heading straight for does not push over the table's edge at once.

    Rows (B, 1+N, F) of true state as in `approach`; `edge` is half the table's sides, (2,).
    """
    places = rows[..., :2]
    way = places[:, 1:] - places[:, :1]  # (B, N, 2)
    way = way / np.maximum(np.linalg.norm(way, axis=-1, keepdims=True), 1e-6)
    return np.all(np.abs(places[:, 1:] + _AHEAD * way) < edge, axis=-1)


def approach(rows: NDArray[np.float32], chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    """Actions (B, 3) for the `chosen` object of each copy, and through it.

    Rows (B, 1+N, F) of true state are the gripper and the objects, places first.
    """
    places = rows[..., :3]  # (B, 1+N, 3)
    gap = places[np.arange(len(chosen)), 1 + chosen] - places[:, 0]  # (B, 3)
    far = np.maximum(np.linalg.norm(gap[:, :2], axis=-1, keepdims=True), 1e-6)
    flat = gap[:, :2] / far * np.maximum(far, _THROUGH)
    move = np.concatenate((flat, gap[:, 2:]), axis=-1) / REACH_PER_UNIT
    return np.clip(move / np.maximum(np.abs(move[:, :2]).max(-1, keepdims=True), 1.0), -1, 1)
