"""Which object of the goal picture each followed object is, in B environments.

Shapes: M followed objects, G objects of a goal, W columns.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities, EntityLayout
from jostle.core.found_objects import feature_gaps


class GoalIdentities:
    """Remembers what a followed object once looked like: looks change while the arm hides it."""

    def __init__(self, layout: EntityLayout, same_color: float) -> None:
        """Compare objects with these columns; nearer than `same_color` they look alike."""
        self._layout, self._same_color = layout, same_color

    def start(self, goal: Entities, envs: NDArray[np.bool_] | None = None) -> None:
        """Forget everything, or what is known of some environments; goals are (B, 1, G, W)."""
        if envs is None:
            self._goal_of = np.full(goal.visible[:, 0].shape, -1)
        else:
            self._goal_of[envs] = -1
        self._goal = goal

    def update(self, tracks: Entities) -> NDArray[np.int64]:
        """Rows of the goal that followed objects (B, 1, M, W) are; -1: of none. (B, M)."""
        gaps = feature_gaps(tracks.values, self._goal.values, self._layout)[:, 0]  # (B, M, G)
        gaps = np.where(self._goal.visible, gaps, np.inf)
        alike = tracks.visible[:, 0] & (gaps.min(-1) < self._same_color)  # (B, M)
        self._goal_of = np.where(alike, gaps.argmin(-1), self._goal_of)
        return self._goal_of
