"""Distance to the goal, success and the paper's five metrics, for numpy and torch.

This module imports neither torch nor a simulator, so environments, replay and evaluation share
one definition.
"""

import sys
from dataclasses import dataclass
from typing import Any, Literal

Array = Any
"""A numpy array or a torch tensor; results have the type of the arguments."""

METRICS = {
    "success": "1 if every object is at its goal, else 0",
    "success_fraction": "fraction of objects at their goal",
    "average_distance": "mean distance of the objects to their goals (meters; radians for yaw)",
    "maximum_distance": "largest of these distances",
    "average_return": "mean reward per step since the start of the episode",
}
"""The paper's five metrics. All but the last describe one step; tables report the last step."""


@dataclass(frozen=True, kw_only=True)
class GoalMetric:
    """Measures how far objects are from their goals."""

    goal_type: Literal["position", "yaw"]
    """Goals are (x, y) in meters, or a heading as (sin, cos)."""
    radius: float
    """An object is at its goal when it is nearer than this."""
    scale: float
    """Distance in whose units the reward is given."""
    padded: bool = False
    """Whether goals carry a last column that is 1 for present objects and 0 for padding."""

    @property
    def width(self) -> int:
        """Number of goal columns."""
        return 3 if self.padded else 2

    def distances(self, achieved: Array, desired: Array) -> Array:
        """Distance of each object to its goal, (..., N); 0 for padding."""
        if self.goal_type == "position":
            x = achieved[..., 0] - desired[..., 0]
            y = achieved[..., 1] - desired[..., 1]
            distance = (x * x + y * y) ** 0.5
        else:
            sine = achieved[..., 0] * desired[..., 1] - achieved[..., 1] * desired[..., 0]
            cosine = achieved[..., 1] * desired[..., 1] + achieved[..., 0] * desired[..., 0]
            distance = abs(_library(sine).arctan2(sine, cosine))
        return distance * achieved[..., 2] if self.padded else distance

    def reached(self, achieved: Array, desired: Array) -> Array:
        """Whether each object is at its goal, (..., N) bool; True for padding."""
        return self.distances(achieved, desired) < self.radius

    def success(self, achieved: Array, desired: Array) -> Array:
        """Whether all objects are at their goals, (...) bool."""
        return self.reached(achieved, desired).all(-1)

    def metrics(self, achieved: Array, desired: Array) -> dict[str, Array]:
        """The four metrics of one step, each (...)."""
        distances = self.distances(achieved, desired)
        count = self.count(achieved)
        reached = (distances < self.radius) * 1.0
        if self.padded:
            reached = reached * achieved[..., 2]
        fraction = sum_last_axis(reached) / count
        return {
            "success": (fraction == 1.0) * 1.0,
            "success_fraction": fraction,
            "average_distance": sum_last_axis(distances) / count,
            "maximum_distance": distances.max(-1) if _is_numpy(distances) else distances.amax(-1),
        }

    def present(self, achieved: Array) -> Array:
        """Which objects are present, (..., N) bool."""
        if self.padded:
            return achieved[..., 2] > 0.5
        return achieved[..., 0] == achieved[..., 0]  # all: coordinates are numbers

    def count(self, achieved: Array) -> Array:
        """Number of present objects."""
        return sum_last_axis(achieved[..., 2]) if self.padded else achieved.shape[-2]


def sum_last_axis(values: Array) -> Array:
    """Add up the last axis from left to right: the same bits for any leading shape and layout."""
    total = values[..., 0]
    for index in range(1, values.shape[-1]):
        total = total + values[..., index]
    return total


def _is_numpy(values: Array) -> bool:
    return type(values).__module__.split(".")[0] == "numpy"


def _library(values: Array) -> Any:
    return sys.modules[type(values).__module__.split(".")[0]]
