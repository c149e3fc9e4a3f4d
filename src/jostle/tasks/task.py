"""What a task is: a scene, where things start, where they shall go, how long, how it is scored."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.measures import Measure
from jostle.scene.arm import GRIP_OFFSET
from jostle.scene.furniture import robot_base
from jostle.scene.shapes import SHAPES, spacing
from jostle.scene.spec import CUBE_SIDE, STANDARD_TABLE, ObjectSpec, SceneSpec, TableSpec
from jostle.tasks.episode import Planar
from jostle.tasks.placement import Region, scatter

_EDGE = 0.1
"""Distance kept from the table's edges when objects are placed."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Objects on a table, scattered at random, to be pushed to other random places.

    Subclasses change where things start and go, and the numbers below. All placements are planar:
    (x, y, yaw) per object slot, NaN for a slot that is not there.
    """

    name: str
    """Catalog name."""
    summary: str
    """One line for `jostle tasks`."""
    counts: tuple[int, int] = (1, 12)
    """Fewest and most objects."""
    objects: int = 3
    """Objects unless asked otherwise."""
    table: TableSpec = STANDARD_TABLE
    """The table."""
    shape: str = "cube"
    """What the objects are."""
    corridor: bool = False
    """Whether the corridor stands on the table."""
    kind: Literal["position", "yaw"] = "position"
    """What is scored."""
    radius: float = 0.04
    """Distance (m, or rad) below which an object is at its goal."""
    horizons: tuple[int, ...] = (30, 50, 100)
    """Training horizon for 1, 2, ... objects; the last one holds beyond."""

    def check_count(self, count: int) -> None:
        """Refuse a number of objects the task has no meaning for."""
        low, high = self.counts
        require(
            low <= count <= high,
            f"{self.name} takes {low} to {high} objects, not {count}."
            if low != high
            else f"{self.name} takes exactly {low} objects, not {count}.",
        )

    def extra_slots(self) -> int:
        """Slots beyond the objects that only the goal picture shows."""
        return 0

    def horizon(self, count: int) -> int:
        """Steps of a training episode with `count` objects."""
        return self.horizons[min(count, len(self.horizons)) - 1]

    def evaluation_steps(self, count: int) -> int:
        """Steps of an evaluation episode with `count` objects."""
        return min(50 * count, 200)

    def scene(self, count: int) -> SceneSpec:
        """Build the scene: `count` objects and the extra slots, which stay parked."""
        one = ObjectSpec(shape=self.shape)
        spare = ObjectSpec(shape=self.shape, present=False)
        return SceneSpec(
            objects=(one,) * count + (spare,) * self.extra_slots(),
            table=self.table,
            corridor=self.corridor,
            parts=len(SHAPES[self.shape].boxes),
        )

    def measure(self, padded: bool) -> Measure:
        """How this task is scored."""
        scale = self.table.half_diagonal if self.kind == "position" else np.pi
        return Measure(kind=self.kind, radius=self.radius, scale=float(scale), padded=padded)

    def start(self, scene: SceneSpec, rng: np.random.Generator) -> Planar:
        """Draw where the objects start."""
        return self.scattered(scene, region(scene.table), rng)

    def goal(self, scene: SceneSpec, rng: np.random.Generator) -> tuple[Planar, Planar]:
        """Draw where each object shall go, and what the goal picture shows."""
        goal = self.scattered(scene, region(scene.table), rng)
        return goal, goal

    def sort_of(self, slot: int, count: int) -> int:
        """Which color a slot has, as a number: cubes of one number look the same."""
        del count
        return slot

    def scattered(self, scene: SceneSpec, where: Region, rng: np.random.Generator) -> Planar:
        """Place the present objects of a scene, clear of each other and of the waiting gripper."""
        planar = np.full((len(scene.objects), 3), np.nan)
        here = [slot for slot, one in enumerate(scene.objects) if one.present]
        x, y = robot_base(scene.table)[0] + GRIP_OFFSET[0], GRIP_OFFSET[1]
        radii = [spacing(scene.objects[slot]) for slot in here]
        planar[here, :2] = scatter(where, radii, [(x, y, CUBE_SIDE / np.sqrt(2))], rng)
        planar[here, 2] = self.turns(len(here), rng)
        return planar

    def turns(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the objects' headings: cubes stand square to the table."""
        del rng
        return np.zeros(count)


def region(table: TableSpec) -> Region:
    """Where centers of objects may lie on a table."""
    x, y = table.x / 2 - _EDGE, table.y / 2 - _EDGE
    return (-x, -y), (x, y)
