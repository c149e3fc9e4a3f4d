"""Labels of particles from how they move while the arm acts at random: no ground truth is read.

What stays in its place within an episode and is elsewhere in others is an object. What is elsewhere
after every command is the arm. What is in the same place in most episodes is background.
Shapes: E episodes, T steps, V views, K particles, F features.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, require

UNKNOWN, OTHER, OBJECT = -1, 0, 1
"""Labels: not clear, arm or background, object."""
_STILL_PX = 1.0
"""Pixels within which a particle is in the same place."""
_SAME_PLACE_PX = 1.5
"""The same between episodes."""
_STILL_STEPS = 4
"""Steps of its episode at which something is in the place of an object, at least."""
_BACKGROUND, _ELSEWHERE = 0.5, 0.3
"""Fraction of other episodes with something in the same place: of background, and of objects."""
_NEIGHBORS = 15
"""Particles of similar features that a label is compared with."""
_MIN_EPISODES = 20
"""Episodes that tell objects from background, at least."""

Labels = NDArray[np.int64]


def motion_labels(pixels: NDArray[np.float64], visible: NDArray[np.bool_]) -> Labels:
    """Label particles at pixels (E, T, V, K, 2) by where else they are seen: (E, T, V, K)."""
    episodes, steps = visible.shape[:2]
    require(
        episodes >= _MIN_EPISODES and steps > 2 * _STILL_STEPS,
        f"Objects and background differ only over at least {_MIN_EPISODES} episodes of "
        f"{2 * _STILL_STEPS} steps, not {episodes} of {steps - 1}.",
    )
    still = _steps_in_place(pixels, visible)  # (E, T, V, K)
    elsewhere = _episodes_in_place(pixels, visible)  # (E, T, V, K)
    labels = np.full(visible.shape, UNKNOWN, np.int64)
    labels[(still >= _STILL_STEPS) & (elsewhere < _ELSEWHERE)] = OBJECT
    labels[(still <= 1) | (elsewhere > _BACKGROUND)] = OTHER
    labels[~visible] = UNKNOWN
    return labels


def consistent(features: NDArray[np.float32], labels: Labels) -> NDArray[np.bool_]:
    """Which labels (R,) agree with those of particles that look alike; features (R, F).

    A cube that the arm pushes moves with it, and is labeled as the arm; elsewhere it lies still.
    """
    agreeing = np.zeros(len(labels), bool)
    for label in (OTHER, OBJECT):
        if not (labels == label).any():
            name = "object" if label == OBJECT else "part of the arm"
            raise BadValueError(
                f"No particle is clearly an {name}: nothing stays in its place while the arm "
                "moves, or nothing moves. Does the encoder find particles in these images?"
            )
    weight = np.where(labels == OBJECT, (labels == OTHER).mean(), (labels == OBJECT).mean())
    count = min(_NEIGHBORS, len(labels) - 1)
    for start in range(0, len(labels), 256):
        rows = slice(start, start + 256)
        gap = ((features[rows, None] - features[None]) ** 2).sum(-1)  # (R', R)
        gap[np.arange(len(gap)), np.arange(start, start + len(gap))] = np.inf
        nearest = np.argpartition(gap, count - 1, axis=1)[:, :count]  # (R', count)
        votes = weight[nearest]
        share = (votes * (labels[nearest] == OBJECT)).sum(1) / votes.sum(1)
        agreeing[rows] = (share > 0.5) == (labels[rows] == OBJECT)
    return agreeing


def _steps_in_place(pixels: NDArray[np.float64], visible: NDArray[np.bool_]) -> NDArray[np.int64]:
    """At how many steps of its episode something is where a particle is, (E, T, V, K)."""
    count = np.zeros(visible.shape, np.int64)
    for step in range(visible.shape[1]):
        other, shown = pixels[:, step, None, :, None], visible[:, step, None, :, None]
        near = np.linalg.norm(pixels[..., None, :] - other, axis=-1) < _STILL_PX
        count += (near & shown).any(-1)
    return count


def _episodes_in_place(
    pixels: NDArray[np.float64], visible: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """In which fraction of the other episodes something is where a particle is, (E, T, V, K)."""
    episodes, steps = visible.shape[:2]
    moments = (0, steps // 2, steps - 1)
    total = np.zeros(visible.shape)
    for episode in range(episodes):
        for step in moments:
            other, shown = pixels[episode, step, :, None], visible[episode, step, :, None]
            near = np.linalg.norm(pixels[..., None, :] - other, axis=-1) < _SAME_PLACE_PX
            found = (near & shown).any(-1)  # (E, T, V, K)
            found[episode] = False
            total += found / len(moments)
    return total / (episodes - 1)
