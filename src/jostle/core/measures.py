"""Reward, success and the paper's five metrics, for numpy and torch alike.

Neither torch nor a simulator is imported, so environments, replay and evaluation share one
definition.
"""

import sys
from dataclasses import dataclass
from typing import Any, Literal

Array = Any
"""A numpy array or a torch tensor; what comes in goes out."""

METRICS = {
    "success": "1 if every object is at its goal, else 0",
    "success_fraction": "share of objects at their goal",
    "average_distance": "mean distance of the objects to their goals (meters; radians for yaw)",
    "maximum_distance": "largest of these distances",
    "average_return": "mean reward per step since the episode began",
}
"""The paper's five numbers. All but the last describe one moment; tables use the final one."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """How far an arrangement is from the one that was asked for."""

    kind: Literal["position", "yaw"]
    """Goals are (x, y) in meters, or a heading as (sin, cos)."""
    radius: float
    """An object is at its goal when it is nearer than this."""
    scale: float
    """Reward is -2 · mean distance / scale."""
    padded: bool = False
    """Whether goals carry a last column that is 1 for present objects and 0 for padding."""

    @property
    def width(self) -> int:
        """Columns of a goal row."""
        return 3 if self.padded else 2

    def distances(self, achieved: Array, desired: Array) -> Array:
        """Distance of each object to its goal, (..., N); 0 for padding."""
        if self.kind == "position":
            x = achieved[..., 0] - desired[..., 0]
            y = achieved[..., 1] - desired[..., 1]
            gap = (x * x + y * y) ** 0.5
        else:
            sine = achieved[..., 0] * desired[..., 1] - achieved[..., 1] * desired[..., 0]
            cosine = achieved[..., 1] * desired[..., 1] + achieved[..., 0] * desired[..., 0]
            gap = abs(_library(sine).arctan2(sine, cosine))
        return gap * achieved[..., 2] if self.padded else gap

    def reward(self, achieved: Array, desired: Array) -> Array:
        """Dense reward, (...): 0 when everything is in place, falling with the mean distance."""
        gap = self.distances(achieved, desired)
        return _sum(gap) / self._count(achieved) * (-2.0 / self.scale)

    def reached(self, achieved: Array, desired: Array) -> Array:
        """Whether each object is at its goal, (..., N) bool; True for padding."""
        return self.distances(achieved, desired) < self.radius

    def success(self, achieved: Array, desired: Array) -> Array:
        """Whether all objects are at their goals, (...) bool."""
        return self.reached(achieved, desired).all(-1)

    def metrics(self, achieved: Array, desired: Array) -> dict[str, Array]:
        """The four metrics of a moment, each (...)."""
        gap = self.distances(achieved, desired)
        count = self._count(achieved)
        reached = (gap < self.radius) * 1.0
        if self.padded:
            reached = reached * achieved[..., 2]
        fraction = _sum(reached) / count
        return {
            "success": (fraction == 1.0) * 1.0,
            "success_fraction": fraction,
            "average_distance": _sum(gap) / count,
            "maximum_distance": gap.max(-1) if _is_numpy(gap) else gap.amax(-1),
        }

    def _count(self, achieved: Array) -> Array:
        return _sum(achieved[..., 2]) if self.padded else achieved.shape[-2]


def _sum(values: Array) -> Array:
    """Add up the last axis from left to right: the same bits for any leading shape and layout."""
    total = values[..., 0]
    for index in range(1, values.shape[-1]):
        total = total + values[..., index]
    return total


def _is_numpy(values: Array) -> bool:
    return type(values).__module__.split(".")[0] == "numpy"


def _library(values: Array) -> Any:
    return sys.modules[type(values).__module__.split(".")[0]]
