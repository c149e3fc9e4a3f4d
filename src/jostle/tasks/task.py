"""What a task is: a scene, where objects start, their goals, the horizon and the goal metric."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.goal_metric import GoalMetric
from jostle.scene.robot import GRIP_OFFSET, robot_base
from jostle.scene.shapes import SHAPES, spacing
from jostle.scene.spec import STANDARD_TABLE, ObjectSpec, SceneSpec, TableSpec
from jostle.tasks.budget import TrainingBudget, cubes_budget
from jostle.tasks.episode import PlanarPoses
from jostle.tasks.placement import Region, sample_positions

_EDGE = 0.1
"""Distance to the table's edges when objects are placed."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Objects on a table at random positions, to be pushed to other random positions.

    Subclasses change start and goal poses and the numbers below. All poses are planar:
    (x, y, yaw) per object slot, NaN for a slot that is not present.
    """

    name: str
    """Catalog name."""
    summary: str
    """One line for `jostle tasks`."""
    counts: tuple[int, int] = (1, 12)
    """Fewest and most objects."""
    objects: int = 3
    """Default number of objects."""
    table: TableSpec = STANDARD_TABLE
    """The table."""
    shape: str = "cube"
    """Shape of the objects."""
    corridor: bool = False
    """Whether the corridor stands on the table."""
    goal_type: Literal["position", "yaw"] = "position"
    """Which part of the pose counts."""
    radius: float = 0.04
    """Distance (m, or rad) below which an object is at its goal."""
    horizons: tuple[int, ...] = (30, 50, 100)
    """Training horizon for 1, 2, ... objects; the last value also holds for more objects."""

    budget: Mapping[str, Any] = field(default_factory=dict)
    """Training settings that differ from those of the same number of cubes."""

    def check_count(self, count: int) -> None:
        """Refuse a number of objects that the task does not support."""
        low, high = self.counts
        require(
            low <= count <= high,
            f"{self.name} takes {low} to {high} objects, not {count}."
            if low != high
            else f"{self.name} takes exactly {low} objects, not {count}.",
        )

    def extra_slots(self) -> int:
        """Object slots that only the goal image shows."""
        return 0

    def horizon(self, count: int) -> int:
        """Steps of a training episode with `count` objects."""
        return self.horizons[min(count, len(self.horizons)) - 1]

    def evaluation_steps(self, count: int) -> int:
        """Steps of an evaluation episode with `count` objects."""
        return min(50 * count, 200)

    def training_budget(self, count: int) -> TrainingBudget:
        """Training settings of the task with `count` objects."""
        return replace(cubes_budget(count), **self.budget)

    def make_scene(self, count: int) -> SceneSpec:
        """Build the scene: `count` objects and the extra slots, which stay parked."""
        present = ObjectSpec(shape=self.shape)
        absent = ObjectSpec(shape=self.shape, present=False)
        return SceneSpec(
            objects=(present,) * count + (absent,) * self.extra_slots(),
            table=self.table,
            corridor=self.corridor,
            parts=len(SHAPES[self.shape].boxes),
        )

    def goal_metric(self, padded: bool) -> GoalMetric:
        """How distance to the goal, success and reward are measured."""
        scale = self.table.half_diagonal if self.goal_type == "position" else np.pi
        return GoalMetric(
            goal_type=self.goal_type, radius=self.radius, scale=float(scale), padded=padded
        )

    def sample_start(self, scene: SceneSpec, rng: np.random.Generator) -> PlanarPoses:
        """Sample the start poses."""
        return self.sample_poses(scene, placement_region(scene.table), rng)

    def sample_goal(
        self, scene: SceneSpec, rng: np.random.Generator
    ) -> tuple[PlanarPoses, PlanarPoses]:
        """Sample the goal poses, and the poses that the goal image shows."""
        goal = self.sample_poses(scene, placement_region(scene.table), rng)
        return goal, goal

    def color_group(self, slot: int, count: int) -> int:
        """Group of a slot among `count` objects: slots of one group have the same color."""
        del count
        return slot

    def sample_poses(
        self, scene: SceneSpec, region: Region, rng: np.random.Generator
    ) -> PlanarPoses:
        """Place the present objects of a scene, clear of each other and of the gripper at reset."""
        poses = np.full((len(scene.objects), 3), np.nan)
        present = [slot for slot, obj in enumerate(scene.objects) if obj.present]
        x, y = robot_base(scene.table)[0] + GRIP_OFFSET[0], GRIP_OFFSET[1]
        radii = [spacing(scene.objects[slot]) for slot in present]
        gripper = (x, y, SHAPES[self.shape].spacing)  # as if it were one more object
        poses[present, :2] = sample_positions(region, radii, [gripper], rng)
        poses[present, 2] = self.sample_yaw(len(present), rng)
        return poses

    def sample_yaw(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Sample the headings of the objects: cubes are aligned with the table."""
        del rng
        return np.zeros(count)


def placement_region(table: TableSpec) -> Region:
    """Where centers of objects may lie on a table."""
    x, y = table.x / 2 - _EDGE, table.y / 2 - _EDGE
    return (-x, -y), (x, y)
