"""The goal picture shows cubes that are not in the scene; they are to be ignored."""

from dataclasses import dataclass, replace

import numpy as np

from jostle.core.errors import require
from jostle.scene.spec import MAX_OBJECTS, SceneSpec
from jostle.tasks.episode import Planar
from jostle.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Distractors(Task):
    """N-Cubes with further cubes, of other colors, in the goal picture only."""

    distractors: int = 2
    """Cubes that only the goal picture shows."""

    def __post_init__(self) -> None:
        """Refuse nonsense counts."""
        require(
            1 <= self.distractors < MAX_OBJECTS,
            f"Between 1 and {MAX_OBJECTS - 1} distractors can be shown, not {self.distractors}.",
        )

    def extra_slots(self) -> int:
        """One slot per distractor, parked while the episode runs."""
        return self.distractors

    def goal(self, scene: SceneSpec, rng: np.random.Generator) -> tuple[Planar, Planar]:
        """Place goals and distractors together, so that they do not overlap in the picture."""
        first = len(scene.objects) - self.distractors
        shown = tuple(
            replace(one, present=True) if slot >= first else one
            for slot, one in enumerate(scene.objects)
        )
        photo, _ = super().goal(replace(scene, objects=shown), rng)
        goal = photo.copy()
        goal[first:] = np.nan
        return goal, photo
