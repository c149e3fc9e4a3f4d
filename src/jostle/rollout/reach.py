"""Moving straight to an object, by true positions or by those of particles."""

import numpy as np
from numpy.typing import NDArray

from jostle.scene.controller import ACTION_SCALE

_MIN_STRIDE = 0.04
"""Shortest horizontal move, in meters: it does not end at the object's center."""
_LOOKAHEAD = 0.08
"""How far an object may be pushed before the target is checked again, in meters."""


def present(rows: NDArray[np.float32], padded: bool) -> NDArray[np.bool_]:
    """Which rows (B, K, F) of true state are present; the last column says so if padded."""
    return rows[..., -1] > 0.5 if padded else np.ones(rows.shape[:2], bool)


def away_from_edge(
    rows: NDArray[np.float32], table_half_size: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Which objects (B, N) stay on the table if the gripper moves straight at them.

    Args:
        rows: True state (B, 1+N, F): gripper, objects; positions first.
        table_half_size: Half the table's sides, (2,).
    """
    positions = rows[..., :2]
    direction = positions[:, 1:] - positions[:, :1]  # (B, N, 2)
    direction = direction / np.maximum(np.linalg.norm(direction, axis=-1, keepdims=True), 1e-6)
    pushed = positions[:, 1:] + _LOOKAHEAD * direction
    return np.all(np.abs(pushed) < table_half_size, axis=-1)


def reach(rows: NDArray[np.float32], target: NDArray[np.int64]) -> NDArray[np.float32]:
    """Actions (B, 3) that move the gripper to the `target` object (B,), and through it.

    Rows (B, 1+N, F) of true state are the gripper and the objects, positions first.
    """
    positions = rows[..., :3]  # (B, 1+N, 3)
    gap = positions[np.arange(len(target)), 1 + target] - positions[:, 0]  # (B, 3)
    distance = np.maximum(np.linalg.norm(gap[:, :2], axis=-1, keepdims=True), 1e-6)
    horizontal = gap[:, :2] / distance * np.maximum(distance, _MIN_STRIDE)
    move = np.concatenate((horizontal, gap[:, 2:]), axis=-1) / ACTION_SCALE
    return np.clip(move / np.maximum(np.abs(move[:, :2]).max(-1, keepdims=True), 1.0), -1, 1)
