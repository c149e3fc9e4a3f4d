"""From observations to inputs of the graphs, in numpy: what a user of the files does, too."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation
from jostle.rollout.pixel_observer import GOAL

Feeds = dict[str, NDArray[Any]]
"""Inputs of a graph, by name."""


def state_feeds(observation: Observation, objects: int, padded: bool) -> Feeds:
    """Rows of the gripper and of `objects` objects, goals, and which objects are present.

    The last column of padded observations says so; otherwise all are. Missing rows are zeros.
    """
    rows, goals = observation["observation"], observation["desired_goal"]  # (B, 1+n, F), (B, n, w)
    present = np.ones(goals.shape[:2], bool)
    if padded:
        present = goals[..., -1] > 0.5
        rows, goals = rows[..., :-1], goals[..., :-1]
    missing = ((0, 0), (0, objects - goals.shape[1]))
    return {
        "observation": np.pad(rows, (*missing, (0, 0))),
        "desired_goal": np.pad(goals, (*missing, (0, 0))),
        "present": np.pad(present, missing),
    }


def frame_feeds(observation: Observation, cameras: Sequence[str], goal: bool = False) -> Feeds:
    """Images of all cameras, in the order of the views, (B, V, H, W, 3)."""
    prefix = GOAL if goal else ""
    return {"frames": np.stack([observation[prefix + name] for name in cameras], axis=1)}
