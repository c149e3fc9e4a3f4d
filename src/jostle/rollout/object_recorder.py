"""Objects found in images along an episode: for rewards, goals of hindsight and success by images.

Nothing but particles and the cameras' calibration is read. Shapes: B environments, M objects of a
state, G of a goal, W columns.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, POSITION, Entities
from jostle.core.errors import require
from jostle.core.found_objects import VIEWS, feature_gaps, seen_now
from jostle.core.profiler import PROFILER
from jostle.replay.episodes import Trajectory
from jostle.rewards.table import TableReward
from jostle.rollout.object_tracks import ObjectTracker
from jostle.rollout.table_projection import TableProjection


@dataclass(frozen=True)
class ObjectRules:
    """When an episode is solved, and which of its steps may become goals."""

    reward: TableReward
    """Distances of objects to their goals on the table."""
    radius: float
    """Distance below which an object is at its goal, in meters."""
    table_half_size: NDArray[np.float32]
    """Half the table's sides, (2,)."""


class ObjectRecorder:
    """Follows the objects of B environments from the first step of an episode to its last."""

    def __init__(
        self,
        tracker: ObjectTracker,
        rules: ObjectRules,
        table_projection: TableProjection | None = None,
        keep_states: bool = True,
    ) -> None:
        """Follow the objects of particles.

        Args:
            tracker: Finds objects.
            rules: Success, and goals of hindsight.
            table_projection: For particles without positions on the table.
            keep_states: Whether a reward reads the objects of every step.
        """
        self._tracker, self._rules, self._projection = tracker, rules, table_projection
        self._keep_states = keep_states
        self._states: list[Entities] = []
        self._goal_steps: list[NDArray[np.bool_]] = []
        self._returns = np.zeros(0)

    def start(self, state: Entities, goal: Entities) -> None:
        """Begin with the first step of new episodes."""
        self._tracker.reset()
        with PROFILER("objects"):
            self._goal = self._tracker.objects(self._projected(goal))
        require(
            bool(self._goal.visible.any()),
            f"The classifier finds no object in any of {len(goal.values)} goal images: fit one to "
            "images of this task (without --object-classifier), or use another encoder.",
        )
        self._states, self._goal_steps = [], []
        self._goal_of = np.full(self._goal.visible[:, 0].shape, -1)
        self._returns = np.zeros(len(state.values))
        self._add(state)

    def add(self, state: Entities) -> None:
        """Go on to the next step."""
        self._add(state)
        self._returns += self._rules.reward.total(self._states[-1], self._goal)

    def trajectory(self) -> Trajectory | None:
        """Objects of all steps, (B, T+1, 1, M, W), and of the goals; None if none reads them."""
        if not self._keep_states:
            return None
        states = (np.stack(arrays, axis=1) for arrays in zip(*self._states, strict=True))
        return Trajectory(Entities(*states), self._goal)

    def goal_steps(self) -> NDArray[np.bool_]:
        """Which steps may become goals, (B, T+1): every goal object is seen, and on the table.

        So a step at which an object has fallen, or is hidden in all views, is none.
        """
        return np.stack(self._goal_steps, axis=1)

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """Metrics of the last step by images, (B,) each; `image_return` is per step so far."""
        reward, goal = self._rules.reward, self._goal
        distances, present = reward.distances(self._states[-1], goal), goal.visible[:, 0]
        count = np.maximum(present.sum(-1), 1)
        near = (distances < self._rules.radius) & present
        return {
            "image_success": reward.reached(self._states[-1], goal, self._rules.radius) * 1.0,
            "image_success_fraction": near.sum(-1) / count,
            "image_distance": distances.sum(-1) / count,
            "image_return": self._returns / max(len(self._states) - 1, 1),
        }

    def _add(self, state: Entities) -> None:
        with PROFILER("objects"):
            objects = self._identified(self._tracker.track(self._projected(state)))
        self._states.append(objects)

        # A goal shows all of them on the table
        place = np.abs(objects.values[..., self._tracker.layout[POSITION]])
        on_table = (place < self._rules.table_half_size).all(-1)
        shown = seen_now(Entities(objects.values, objects.visible & on_table))
        missing = self._rules.reward.match(shown, self._goal)[1] < 0  # (B, G)
        present = self._goal.visible[:, 0]
        self._goal_steps.append(~(missing & present).any(-1) & present.any(-1))

    def _identified(self, tracks: Entities) -> Entities:
        """The tracks (B, 1, M, W) of goal objects, which look as the goal picture shows them.

        A track that once looked like a goal object stays this object: looks change while the arm
        hides half of it. Objects of no goal have no reward, and are in no goal of hindsight.
        """
        layout, goal = self._tracker.layout, self._goal
        gaps = feature_gaps(tracks.values, goal.values, layout)[:, 0]  # (B, M, G)
        gaps = np.where(goal.visible, gaps, np.inf)
        alike = tracks.visible[:, 0] & (gaps.min(-1) < self._rules.reward.same_color)  # (B, M)
        self._goal_of = np.where(alike, gaps.argmin(-1), self._goal_of)  # (B, M)
        values = tracks.values.copy()
        looks = slice(layout[FEATURES].start, layout[VIEWS].stop)
        shown = np.take_along_axis(goal.values[:, 0], np.maximum(self._goal_of, 0)[..., None], 1)
        values[:, 0, :, looks] = shown[..., looks]
        return Entities(values, tracks.visible & (self._goal_of >= 0)[:, None])

    def _projected(self, particles: Entities) -> Entities:
        """Particles with their positions on the table."""
        return particles if self._projection is None else self._projection(particles)
