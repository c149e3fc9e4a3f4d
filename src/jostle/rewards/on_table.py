"""What rewards by distances on the table have in common. Shapes: B samples, G goal objects."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities

Floats = NDArray[np.float32]


class OnTableReward(ABC):
    """A reward whose objects' distances to their goals are measured on the table."""

    scale: float
    """Distance in whose units the reward is given, in meters."""
    farthest: float
    """Distance of a goal object that was never seen, in meters."""

    @abstractmethod
    def distances(self, state: Entities, goal: Entities) -> Floats:
        """Distance (B, G) of each goal object to its goal, `farthest` if unseen; 0 for padding."""

    @property
    def minimum(self) -> float:
        """Least reward of an object in one step."""
        return -2.0 * self.farthest / self.scale

    def per_object(self, state: Entities, goal: Entities) -> tuple[Floats, NDArray[np.bool_]]:
        """Reward of each goal object and which rows are goal objects, (B, G) each."""
        return self._rewards(state, goal), goal.visible[:, 0]

    def total(self, state: Entities, goal: Entities) -> Floats:
        """Mean reward of the goal objects, (B,); the least reward if the goal shows none."""
        rewards, present = self._rewards(state, goal), goal.visible[:, 0]
        count = present.sum(-1)
        mean = (rewards * present).sum(-1) / np.maximum(count, 1)
        total: Any = np.where(count > 0, mean, self.minimum).astype(np.float32)
        return total

    def _rewards(self, state: Entities, goal: Entities) -> Floats:
        return self.distances(state, goal) * np.float32(-2.0 / self.scale)
