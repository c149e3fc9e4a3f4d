"""More cubes than goals: all cubes of a color go to the one place shown in the goal image."""

from dataclasses import dataclass

import numpy as np

from jostle.core.errors import require
from jostle.scene.spec import SceneSpec
from jostle.tasks.episode import PlanarPoses
from jostle.tasks.task import Task

_PER_COLOR = 4
_X, _Y = 0.0925, 0.1425
_CORNERS = ((_X, _Y), (-_X, -_Y), (_X, -_Y), (-_X, _Y))


@dataclass(frozen=True, kw_only=True)
class Sorting(Task):
    """Four cubes of each of up to three colors; the goal of a color is one of three corners."""

    def check_count(self, count: int) -> None:
        """Refuse numbers of objects that are not four cubes per color."""
        require(
            count in (4, 8, 12),
            f"{self.name} has {_PER_COLOR} cubes of each of 1 to 3 colors: 4, 8 or 12 objects, "
            f"not {count}.",
        )

    def evaluation_steps(self, count: int) -> int:
        """Steps of an evaluation episode with `count` objects; sorting takes long."""
        return 300 if count > _PER_COLOR else 200

    def sample_goal(
        self, scene: SceneSpec, rng: np.random.Generator
    ) -> tuple[PlanarPoses, PlanarPoses]:
        """Assign a corner to each color; the goal image shows one cube of each color."""
        count = len(scene.objects)
        colors, shift = count // _PER_COLOR, int(rng.integers(3))
        goal, goal_view = np.zeros((count, 3)), np.full((count, 3), np.nan)
        for slot in range(count):
            goal[slot, :2] = _CORNERS[(shift + slot % colors) % 3]
        goal_view[:colors] = goal[:colors]
        return goal, goal_view

    def color_group(self, slot: int, count: int) -> int:
        """Slots cycle through the colors."""
        return slot % (count // _PER_COLOR)
