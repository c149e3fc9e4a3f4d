"""The table reward: how far the objects that images show are from those of the goal images.

Reads objects that were found in images (`jostle.core.found_objects`), never true state. A goal
object is matched with an object of its color; of several, the nearest on the table, one to one.
Shapes: M objects of a state, G of a goal, W columns.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import POSITION, Entities, EntityLayout
from jostle.core.errors import NotFiniteError, require
from jostle.core.found_objects import feature_gaps
from jostle.rewards.on_table import Floats, OnTableReward


@dataclass(frozen=True)
class TableReward(OnTableReward):
    """Dense reward of objects found in images, in the scale of the true one."""

    layout: EntityLayout
    """Columns of objects (`jostle.core.found_objects`)."""
    same_color: float
    """Squared distance of features below which two objects look alike."""
    scale: float
    """Distance in whose units the reward is given, in meters."""
    farthest: float
    """Distance of a goal object that was never seen, in meters."""
    reads: ClassVar[Literal["coordinates", "entities", "objects"]] = "objects"

    def __post_init__(self) -> None:
        """Refuse values without meaning."""
        for name in ("same_color", "scale", "farthest"):
            require(getattr(self, name) > 0, f"{name} must be positive, not {getattr(self, name)}.")

    def reached(self, state: Entities, goal: Entities, radius: float) -> NDArray[np.bool_]:
        """Whether every goal object lies within a radius of its goal, (B,): success by images."""
        near = (self.distances(state, goal) < radius) | ~goal.visible[:, 0]
        reached: NDArray[np.bool_] = near.all(-1) & goal.visible[:, 0].any(-1)
        return reached

    def distances(self, state: Entities, goal: Entities) -> Floats:
        """Distance (B, G) of each goal object to its match, `farthest` without one; 0 for padding.

        `state` is (B, 1, M, W), `goal` (B, 1, G, W).
        """
        return self.match(state, goal)[0]

    def match(self, state: Entities, goal: Entities) -> tuple[Floats, NDArray[np.int64]]:
        """Distances (B, G) as above, and the row of each goal object's match, -1 without one."""
        shape = goal.visible[:, 0].shape
        matched = np.full(shape, self.farthest, np.float32)  # (B, G)
        row = np.full(shape, -1, np.int64)
        cost = self._cost(_cropped(state), _cropped(goal))  # (B, G', M')
        samples = np.arange(len(cost))
        pairs = np.isfinite(cost).any(-1).sum(-1).max(initial=0)
        for _ in range(int(pairs)):  # the nearest pair first
            best = cost.reshape(len(cost), -1).argmin(1)
            target, match = np.divmod(best, cost.shape[2])
            found = np.isfinite(cost[samples, target, match])
            one, target, match = samples[found], target[found], match[found]
            matched[one, target] = np.minimum(cost[one, target, match], self.farthest)
            row[one, target] = match
            cost[one, target] = np.inf
            cost[one, :, match] = np.inf
        return matched * goal.visible[:, 0], row

    def _cost(self, state: Entities, goal: Entities) -> Floats:
        """Distance on the table of every pair of goal and object, (B, G, M); infinite if unlike."""
        objects, goals = state.values[:, 0], goal.values[:, 0]
        if not (np.isfinite(objects).all() and np.isfinite(goals).all()):
            raise NotFiniteError("Objects found in images are NaN or infinite: check the encoder.")
        alike = feature_gaps(goals, objects, self.layout) < self.same_color  # (B, G, M)
        alike &= state.visible[:, 0][:, None, :] & goal.visible[:, 0][:, :, None]
        place = self.layout[POSITION]
        gap = goals[:, :, None, place] - objects[:, None, :, place]  # (B, G, M, 2)
        cost: Floats = np.where(alike, np.sqrt((gap * gap).sum(-1)), np.inf)
        return cost


def _cropped(objects: Entities) -> Entities:
    """Without the last rows that are empty in every sample, which are most of them."""
    used = np.flatnonzero(objects.visible.any((0, 1)))
    count = int(used[-1]) + 1 if len(used) else 0
    return Entities(objects.values[:, :, :count], objects.visible[:, :, :count])
