"""Goals that touch: cubes must end side by side."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jostle.core.errors import require
from jostle.scene.spec import CUBE_SIDE, SceneSpec
from jostle.tasks.episode import PlanarPoses
from jostle.tasks.task import Task

_CELL = 0.04
_FIXED_CELLS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1))
_NEIGHBORS = ((1, 0), (0, 1), (-1, 0), (0, -1))


@dataclass(frozen=True, kw_only=True)
class AdjacentGoals(Task):
    """The first cube's goal is random, the others lie around it with gaps of 5 mm."""

    arrangement: Literal["fixed", "random"] = "fixed"
    """The paper's one L-shape, or a random connected arrangement per episode."""
    adjacent_fraction: float = 1.0
    """Fraction of the episodes with adjacent goals; in the others goals are scattered."""

    def __post_init__(self) -> None:
        """Refuse unknown arrangements and fractions outside [0, 1]."""
        require(
            self.arrangement in ("fixed", "random"),
            f"An arrangement is 'fixed' or 'random', not '{self.arrangement}'.",
        )
        require(
            0 <= self.adjacent_fraction <= 1,
            f"adjacent_fraction lies in [0, 1], not {self.adjacent_fraction}.",
        )

    def sample_goal(
        self, scene: SceneSpec, rng: np.random.Generator
    ) -> tuple[PlanarPoses, PlanarPoses]:
        """Sample the first goal, then place the others beside it."""
        goal, _ = super().sample_goal(scene, rng)
        if self.adjacent_fraction < 1 and rng.random() >= self.adjacent_fraction:
            return goal, goal
        present = np.flatnonzero(~np.isnan(goal[:, 0]))
        first = goal[present[0], :2].copy()
        cells = _FIXED_CELLS[: len(present)]
        edge = np.array((scene.table.x, scene.table.y)) / 2 - CUBE_SIDE / 2
        if self.arrangement == "random":
            cells = _random_cells(len(present), rng)
            while (np.abs(first + _CELL * np.array(cells)) > edge).any():
                cells = _random_cells(len(present), rng)
        goal[present, :2] = first + _CELL * np.array(cells)
        return goal, goal


def _random_cells(count: int, rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    """Grow a connected set of grid cells from the origin."""
    cells = [(0, 0)]
    while len(cells) < count:
        (x, y), (dx, dy) = cells[rng.integers(len(cells))], _NEIGHBORS[rng.integers(4)]
        if (x + dx, y + dy) not in cells:
            cells.append((x + dx, y + dy))
    return tuple(cells)
