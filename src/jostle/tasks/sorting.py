"""More cubes than goals: every cube goes to the one place its color has in the goal picture."""

from dataclasses import dataclass

import numpy as np

from jostle.core.errors import require
from jostle.scene.spec import SceneSpec
from jostle.tasks.episode import Planar
from jostle.tasks.task import Task

_PER_COLOR = 4
_X, _Y = 0.0925, 0.1425
_CORNERS = ((_X, _Y), (-_X, -_Y), (_X, -_Y), (-_X, _Y))


@dataclass(frozen=True, kw_only=True)
class Sorting(Task):
    """Four cubes of each of up to three colors; a color's place is one of three corners."""

    def check_count(self, count: int) -> None:
        """Refuse scenes that are not four cubes per color."""
        require(
            count in (4, 8, 12),
            f"{self.name} has {_PER_COLOR} cubes of each of 1 to 3 colors: 4, 8 or 12 objects, "
            f"not {count}.",
        )

    def evaluation_steps(self, count: int) -> int:
        """Sorting takes long."""
        return 300 if count > _PER_COLOR else 200

    def goal(self, scene: SceneSpec, rng: np.random.Generator) -> tuple[Planar, Planar]:
        """Give each color a corner; the picture shows one cube of each."""
        count = len(scene.objects)
        colors, turn = count // _PER_COLOR, int(rng.integers(3))
        goal, photo = np.zeros((count, 3)), np.full((count, 3), np.nan)
        for slot in range(count):
            goal[slot, :2] = _CORNERS[(turn + slot % colors) % 3]
        photo[:colors] = goal[:colors]
        return goal, photo

    def sort_of(self, slot: int, count: int) -> int:
        """Colors take turns."""
        return slot % (count // _PER_COLOR)
