"""T-blocks to be rotated. Only the heading counts: the position of a block is ignored."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.scene.spec import SceneSpec
from jostle.tasks.budget import TrainingBudget
from jostle.tasks.episode import PlanarPoses
from jostle.tasks.task import Task, placement_region


@dataclass(frozen=True, kw_only=True)
class PushT(Task):
    """One T in the goal image gives the goal heading of every block."""

    def sample_goal(
        self, scene: SceneSpec, rng: np.random.Generator
    ) -> tuple[PlanarPoses, PlanarPoses]:
        """Sample one block for the goal image; its heading is the goal of all blocks."""
        goal_view = self.sample_poses(scene, placement_region(scene.table), rng)
        goal_view[1:] = np.nan
        goal = np.repeat(goal_view[:1], len(scene.objects), axis=0)
        return goal, goal_view

    def sample_yaw(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Sample any heading."""
        return rng.uniform(-np.pi, np.pi, count)

    def color_group(self, slot: int, count: int) -> int:
        """All blocks have the same color."""
        del slot, count
        return 0

    def training_budget(self, count: int) -> TrainingBudget:
        """Training settings of one and of two blocks."""
        return TrainingBudget(
            env_steps=5_040_000 * count,
            imitation_horizon=50 if count == 1 else 60,
            encoder="dlp-pusht",
            teacher="push-t-state-dagger" if count == 1 else "push-2t-state-dagger",
        )
