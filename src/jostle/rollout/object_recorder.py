"""Objects found in images along an episode: for rewards, goals of hindsight and success by images.

Nothing but particles and the cameras' calibration is read. Shapes: B environments, M objects of a
state, G of a goal, W columns.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, POSITION, Entities
from jostle.core.errors import require
from jostle.core.found_objects import VIEWS, seen_now
from jostle.core.profiler import PROFILER
from jostle.envs.vector import TabletopVectorEnv
from jostle.replay.episodes import Trajectory
from jostle.rewards.table import TableReward
from jostle.rollout.goal_identities import GoalIdentities
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


def image_metrics(
    distances: NDArray[np.float32],
    present: NDArray[np.bool_],
    radius: float,
    mean_reward: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Metrics by images, (B,) each.

    Args:
        distances: Of goal objects to their goals, 0 for padding, (B, G).
        present: Which rows are goal objects, (B, G).
        radius: Distance below which an object is at its goal, in meters.
        mean_reward: Mean reward per step so far, (B,).
    """
    near, count = (distances < radius) & present, np.maximum(present.sum(-1), 1)
    return {
        "image_success": ((near | ~present).all(-1) & present.any(-1)) * 1.0,
        "image_success_fraction": near.sum(-1) / count,
        "image_distance": distances.sum(-1) / count,
        "image_return": mean_reward,
    }


class FoundTies:
    """Ties particles to the objects that a recorder has found in the same images: without truth."""

    def __init__(self, recorder: "ObjectRecorder") -> None:
        """Ask the recorder, which must be a step ahead."""
        self._recorder = recorder

    def goal(self, particles: Entities, env: TabletopVectorEnv) -> NDArray[np.int8]:
        """Tie the particles of the goal images of the running episodes, (B, V, K)."""
        del env
        return self._recorder.goal_ties(particles)

    def state(
        self, particles: Entities, env: TabletopVectorEnv, rows: NDArray[np.float32]
    ) -> NDArray[np.int8]:
        """Tie the particles of images of the present step, (B, V, K)."""
        del env, rows
        return self._recorder.state_ties(particles)


class RecordsObjects(Protocol):
    """What follows objects by images while episodes are played."""

    def start(self, state: Entities, goal: Entities) -> None:
        """Begin with the first step of new episodes."""
        ...

    def add(self, state: Entities) -> None:
        """Go on to the next step."""
        ...

    def trajectory(self) -> Trajectory | None:
        """Objects of all steps and of the goals, if a reward reads them."""
        ...

    def goal_steps(self) -> NDArray[np.bool_]:
        """Which steps may become goals, (B, T+1)."""
        ...

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """Metrics of the last step by images, (B,) each."""
        ...


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
        self._identities = GoalIdentities(tracker.layout, rules.reward.same_color)
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
        self._identities.start(self._goal)
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

    def goal_ties(self, particles: Entities) -> NDArray[np.int8]:
        """Which objects of the goal its particles show, (B, V, K); -1: none."""
        return self._tracker.ties(self._projected(particles), self._goal)

    def state_ties(self, particles: Entities) -> NDArray[np.int8]:
        """Which objects of the present step particles of an image of it show, (B, V, K)."""
        return self._tracker.ties(self._projected(particles), self._states[-1])

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """Metrics of the last step by images, (B,) each; `image_return` is per step so far."""
        distances = self._rules.reward.distances(self._states[-1], self._goal)
        present, steps = self._goal.visible[:, 0], len(self._states) - 1
        return image_metrics(distances, present, self._rules.radius, self._returns / max(steps, 1))

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

        Objects of no goal have no reward, and are in no goal of hindsight.
        """
        layout, goal_of = self._tracker.layout, self._identities.update(tracks)  # (B, M)
        values = tracks.values.copy()
        looks = slice(layout[FEATURES].start, layout[VIEWS].stop)
        goals = self._goal.values[:, 0]
        shown = np.take_along_axis(goals, np.maximum(goal_of, 0)[..., None], 1)
        values[:, 0, :, looks] = shown[..., looks]
        return Entities(values, tracks.visible & (goal_of >= 0)[:, None])

    def _projected(self, particles: Entities) -> Entities:
        """Particles with their positions on the table."""
        return particles if self._projection is None else self._projection(particles)
