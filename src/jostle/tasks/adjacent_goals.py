"""Goals that touch: cubes must end side by side."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jostle.core.errors import require
from jostle.scene.spec import CUBE_SIDE, SceneSpec
from jostle.tasks.episode import Planar
from jostle.tasks.task import Task

_STEP = 0.04
_FIXED = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1))
_SIDES = ((1, 0), (0, 1), (-1, 0), (0, -1))


@dataclass(frozen=True, kw_only=True)
class AdjacentGoals(Task):
    """The first cube's goal is drawn at random, the others sit around it with 5 mm gaps."""

    arrangement: Literal["fixed", "random"] = "fixed"
    """The paper's one L-shape, or a random connected arrangement per episode."""
    share: float = 1.0
    """Share of the episodes whose goals touch; those of the others are scattered."""

    def __post_init__(self) -> None:
        """Refuse unknown arrangements, and shares that are none."""
        require(
            self.arrangement in ("fixed", "random"),
            f"An arrangement is 'fixed' or 'random', not '{self.arrangement}'.",
        )
        require(0 <= self.share <= 1, f"share lies in [0, 1], not {self.share}.")

    def goal(self, scene: SceneSpec, rng: np.random.Generator) -> tuple[Planar, Planar]:
        """Draw the first goal, then lay the others beside it."""
        goal, _ = super().goal(scene, rng)
        if self.share < 1 and rng.random() >= self.share:
            return goal, goal
        here = np.flatnonzero(~np.isnan(goal[:, 0]))
        first = goal[here[0], :2].copy()
        cells = _FIXED[: len(here)]
        edge = np.array((scene.table.x, scene.table.y)) / 2 - CUBE_SIDE / 2
        if self.arrangement == "random":
            cells = _grow(len(here), rng)
            while (np.abs(first + _STEP * np.array(cells)) > edge).any():
                cells = _grow(len(here), rng)
        goal[here, :2] = first + _STEP * np.array(cells)
        return goal, goal


def _grow(count: int, rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    """Grow a connected set of grid cells from the origin."""
    cells = [(0, 0)]
    while len(cells) < count:
        (x, y), (right, up) = cells[rng.integers(len(cells))], _SIDES[rng.integers(4)]
        if (x + right, y + up) not in cells:
            cells.append((x + right, y + up))
    return tuple(cells)
