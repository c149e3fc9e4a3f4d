"""Goal images with cubes that are not in the scene and must be ignored."""

from dataclasses import dataclass, replace

import numpy as np

from jostle.core.errors import require
from jostle.scene.spec import MAX_OBJECTS, SceneSpec
from jostle.tasks.episode import PlanarPoses
from jostle.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Distractors(Task):
    """N-Cubes with additional cubes, of other colors, in the goal image only."""

    distractors: int = 2
    """Number of cubes that only the goal image shows."""

    def __post_init__(self) -> None:
        """Refuse a number of distractors that is out of range."""
        require(
            1 <= self.distractors < MAX_OBJECTS,
            f"Between 1 and {MAX_OBJECTS - 1} distractors can be shown, not {self.distractors}.",
        )

    def extra_slots(self) -> int:
        """One slot per distractor, parked during the episode."""
        return self.distractors

    def sample_goal(
        self, scene: SceneSpec, rng: np.random.Generator
    ) -> tuple[PlanarPoses, PlanarPoses]:
        """Place goals and distractors together, so that they do not overlap in the goal image."""
        first = len(scene.objects) - self.distractors
        visible = tuple(
            replace(obj, present=True) if slot >= first else obj
            for slot, obj in enumerate(scene.objects)
        )
        goal_view, _ = super().sample_goal(replace(scene, objects=visible), rng)
        goal = goal_view.copy()
        goal[first:] = np.nan
        return goal, goal_view
