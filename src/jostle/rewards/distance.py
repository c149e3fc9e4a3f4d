"""The ground-truth reward: minus the mean distance of the objects to their goals."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jostle.core.goal_metric import GoalMetric, sum_last_axis

Array = Any
"""A numpy array or a torch tensor; what comes in goes out."""


@dataclass(frozen=True)
class DistanceReward:
    """Dense reward of true coordinates, in the scale of the paper."""

    metric: GoalMetric
    """How far an object is from its goal."""
    farthest: float
    """Largest distance that can be observed, in meters or radians."""
    reads: ClassVar[Literal["coordinates", "entities", "objects"]] = "coordinates"

    @property
    def minimum(self) -> float:
        """Least reward of an object in one step."""
        return -2.0 * self.farthest / self.metric.scale

    def per_object(self, achieved: Array, desired: Array) -> tuple[Array, Array]:
        """Reward of each object and which objects are present, (..., N) each; 0 for padding."""
        distances = self.metric.distances(achieved, desired)  # (..., N)
        return distances * (-2.0 / self.metric.scale), self.metric.present(achieved)

    def total(self, achieved: Array, desired: Array) -> Array:
        """Mean reward of the present objects, (...): 0 when everything is in place."""
        distances = self.metric.distances(achieved, desired)  # (..., N)
        mean = sum_last_axis(distances) / self.metric.count(achieved)
        return mean * (-2.0 / self.metric.scale)
