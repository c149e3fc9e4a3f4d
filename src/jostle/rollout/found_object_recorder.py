"""Goals of hindsight and metrics by images for agents whose entities are found objects.

Shapes: B environments, N objects of a goal.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import POSITION, Entities
from jostle.core.errors import require
from jostle.rewards.rows import RowReward
from jostle.rollout.found_object_observer import FoundObjectObserver
from jostle.rollout.object_recorder import image_metrics


class FoundObjectRecorder:
    """Reads what the observer has found: it must have seen a step first."""

    def __init__(
        self,
        observer: FoundObjectObserver,
        reward: RowReward,
        radius: float,
        table_half_size: NDArray[np.float32],
    ) -> None:
        """Follow the objects of `observer`.

        Args:
            observer: Finds the objects.
            reward: Distances of objects to their goals on the table.
            radius: Distance below which an object is at its goal, in meters.
            table_half_size: Half the table's sides, (2,).
        """
        self._observer, self._reward, self._radius = observer, reward, radius
        self._half_size = table_half_size
        self._goal_steps: list[NDArray[np.bool_]] = []

    def start(self, state: Entities, goal: Entities) -> None:
        """Begin with the first step of new episodes."""
        require(
            bool(goal.visible.any()),
            f"The classifier finds no object in any of {len(goal.values)} goal images: fit one to "
            "images of this task (without --object-classifier), or use another encoder.",
        )
        self._goal, self._goal_steps = goal, []
        self._returns = np.zeros(len(state.values))
        self._add(state)

    def add(self, state: Entities) -> None:
        """Go on to the next step."""
        self._add(state)
        self._returns += self._reward.total(state, self._goal)

    def trajectory(self) -> None:
        """Nothing besides what the actor observes."""

    def goal_steps(self) -> NDArray[np.bool_]:
        """Which steps may become goals, (B, T+1): every goal object is seen, and on the table."""
        return np.stack(self._goal_steps, axis=1)

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """Metrics of the last step by images, (B,) each; `image_return` is per step so far."""
        distances = self._reward.distances(self._state, self._goal)
        present, steps = self._goal.visible[:, 0], len(self._goal_steps) - 1
        return image_metrics(distances, present, self._radius, self._returns / max(steps, 1))

    def _add(self, state: Entities) -> None:
        self._state = state
        place = np.abs(state.values[:, 0, 1:, self._observer.layout[POSITION]])  # (B, N, 2)
        shown = self._observer.seen & (place < self._half_size).all(-1)
        present = self._goal.visible[:, 0]
        self._goal_steps.append((shown | ~present).all(-1) & present.any(-1))
