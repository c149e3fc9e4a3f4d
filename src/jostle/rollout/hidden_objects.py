"""Where objects are that no view shows: pushed by the gripper, or off the table.

Read are the gripper's own position and places of particles that were taken for the arm: one of them
often shows the arm and the object together. Shapes: B environments, N objects, P particles.
"""

import numpy as np
from numpy.typing import NDArray

_CONTACT = 0.036
"""Meters from the gripper to the center of a cube that it pushes."""
_ABOVE = 0.045
"""Height of the gripper above which it passes over cubes, in meters."""
_NEAR = 0.05
"""Meters within which a particle may show a hidden object."""
_PATH_POINTS = 8
"""Points of the gripper's path of a step at which it may touch objects."""

FALLEN_HEIGHT = -1.0
"""Height of objects that have fallen off the table, as in true state, in meters."""
_HIDDEN_BY_ARM = 0.1
"""Meters from the gripper within which the arm may hide an object from all views."""
_HIDDEN_BY_OBJECT = 0.08
"""Meters from another object within which that one may hide it."""
_HIDDEN_STEPS = 3
"""Steps after which an object that nothing can hide is taken to have fallen."""

Floats = NDArray[np.float32]


def pushed(places: Floats, before: Floats, after: Floats) -> Floats:
    """Where objects at `places` (B, N, 2) are after the gripper went from and to (B, 3)."""
    low = (after[:, 2] < _ABOVE)[:, None]  # (B, 1)
    for part in np.linspace(0, 1, _PATH_POINTS + 1)[1:]:
        gripper = (before + (after - before) * np.float32(part))[:, None, :2]
        away = places - gripper  # (B, N, 2)
        distance = np.linalg.norm(away, axis=-1)
        touched = low & (distance < _CONTACT)
        moved = gripper + away * (_CONTACT / np.maximum(distance, 1e-6))[..., None]
        places = np.where(touched[..., None], moved, places).astype(np.float32)
    return places


def nearest(places: Floats, particles: Floats, candidates: NDArray[np.bool_]) -> Floats:
    """Places (B, N, 2), of the nearest candidates among particles (B, P, 2) if any is near."""
    distance = np.linalg.norm(places[:, :, None] - particles[:, None], axis=-1)  # (B, N, P)
    distance = np.where(candidates[:, None], distance, np.inf)
    best = distance.argmin(-1)[..., None]  # (B, N, 1)
    near = np.take_along_axis(distance, best, 2) < _NEAR
    return np.where(near, np.take_along_axis(particles, best, 1), places).astype(np.float32)


def must_be_gone(
    places: Floats, known: NDArray[np.bool_], hidden_for: NDArray[np.int64], gripper: Floats
) -> NDArray[np.bool_]:
    """Which known objects at `places` (B, N, 2) would be seen if they were on the table.

    Neither the arm, whose gripper is at (B, 3), nor another object is near enough to hide them.
    """
    from_arm = np.linalg.norm(places - gripper[:, None, :2], axis=-1)  # (B, N)
    apart = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)  # (B, N, N)
    alone = np.where(known[:, None], apart, np.inf) + np.where(np.eye(places.shape[1]), np.inf, 0)
    gone: NDArray[np.bool_] = (
        known
        & (hidden_for >= _HIDDEN_STEPS)
        & (from_arm > _HIDDEN_BY_ARM)
        & (alone.min(-1) > _HIDDEN_BY_OBJECT)
    )
    return gone
