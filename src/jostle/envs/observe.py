"""State observations and goals from physics, and the spaces that describe them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from jostle.core.goal_metric import GoalMetric
from jostle.scene.build import retracted_grip
from jostle.scene.physics import Physics
from jostle.scene.spec import TABLE_TOP, TableSpec
from jostle.tasks.episode import PlanarPoses

_MARGIN = 0.2
"""Meters beyond the table at which observed coordinates are clipped."""


@dataclass(frozen=True)
class StateReader:
    """Reads state observations and goals of one task layout."""

    goal_metric: GoalMetric
    """The goal metric; determines the columns."""
    objects: int
    """Number of object rows."""
    table: TableSpec
    """Largest table in use; determines where coordinates are clipped."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `observation`."""
        heading = ("sin", "cos") if self.goal_metric.goal_type == "yaw" else ()
        return ("x", "y", "z", *heading, *(("present",) if self.goal_metric.padded else ()))

    @property
    def goal_columns(self) -> tuple[str, ...]:
        """Names of the columns of `achieved_goal` and `desired_goal`."""
        first = ("sin", "cos") if self.goal_metric.goal_type == "yaw" else ("x", "y")
        return (*first, *(("present",) if self.goal_metric.padded else ()))

    @property
    def farthest(self) -> float:
        """Largest distance of two observed positions or headings, in meters or radians.

        Hindsight goals may lie beside the table, where objects have fallen.
        """
        if self.goal_metric.goal_type == "yaw":
            return float(np.pi)
        return float(np.hypot(self.table.x + 2 * _MARGIN, self.table.y + 2 * _MARGIN))

    def observation_space(
        self, obs_type: str, cameras: Sequence[str], size: tuple[int, int]
    ) -> gym.spaces.Dict:
        """Space of one environment's observations, with images of `size` (height, width)."""
        rows = 1 if obs_type == "pixels" else 1 + self.objects
        spaces: dict[str, gym.Space[Any]] = {
            "observation": self._box(self.columns, rows),
            "achieved_goal": self._box(self.goal_columns, self.objects),
            "desired_goal": self._box(self.goal_columns, self.objects),
        }
        if obs_type != "state":
            for camera in cameras:
                for name in (camera, f"goal_{camera}"):
                    spaces[name] = gym.spaces.Box(0, 255, (*size, 3), np.uint8)
        return gym.spaces.Dict(spaces)

    def entities(self, physics: Physics, present: NDArray[np.bool_]) -> NDArray[np.float32]:
        """State observation, (B, 1 + N, F): the gripper, then the objects; padding is all zeros."""
        poses = physics.objects[:, : self.objects]  # (B, N, 7)
        xyz = np.concatenate((physics.grip[:, None], poses[..., :3]), axis=1)  # (B, 1+N, 3)
        xyz[..., 2] -= TABLE_TOP
        limits = [self._limits()[name] for name in "xyz"]
        columns = [np.clip(xyz, [low for low, _ in limits], [high for _, high in limits])]
        if self.goal_metric.goal_type == "yaw":
            gripper = np.broadcast_to((0.0, 1.0), (len(poses), 1, 2))
            columns.append(np.concatenate((gripper, heading(poses)), axis=1))  # (B, 1+N, 2)
        if self.goal_metric.padded:
            columns.append(np.ones((*xyz.shape[:2], 1)))
        entities = np.concatenate(columns, axis=-1).astype(np.float32)
        if not present.all():
            entities[:, 1:][~present] = 0.0
        return entities

    def retracted_gripper(self) -> NDArray[np.float32]:
        """The gripper's row of `observation` as goal images show it, (F,)."""
        x, y, z = retracted_grip(self.table)
        row = {"x": x, "y": y, "z": z - TABLE_TOP, "sin": 0.0, "cos": 1.0, "present": 1.0}
        limits = self._limits()
        return np.array([np.clip(row[name], *limits[name]) for name in self.columns], np.float32)

    def achieved(self, entities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Goal coordinates of the objects, (B, N, width): columns of the state observation."""
        keep = [self.columns.index(name) for name in self.goal_columns]
        return entities[:, 1:, keep]

    def desired(self, goal: PlanarPoses, present: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Goal coordinates (N, width) of planar goal poses; padding is all zeros."""
        x, y, yaw = goal[: self.objects].T
        values = {
            "x": x,
            "y": y,
            "sin": np.sin(yaw),
            "cos": np.cos(yaw),
            "present": np.ones_like(x),
        }
        desired = np.stack([values[name] for name in self.goal_columns], axis=-1)
        return np.where(present[:, None], desired, 0.0).astype(np.float32)

    def _limits(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of each column."""
        x, y = self.table.x / 2 + _MARGIN, self.table.y / 2 + _MARGIN
        unit = (-1.0, 1.0)
        limits = {"x": (-x, x), "y": (-y, y), "z": (-1.1, 1.0), "sin": unit, "cos": unit}
        return {**limits, "present": (0.0, 1.0)}

    def _box(self, names: tuple[str, ...], rows: int) -> gym.spaces.Box:
        limits = np.array([self._limits()[name] for name in names], np.float32)  # (F, 2)
        low, high = (np.tile(limits[:, end], (rows, 1)) for end in (0, 1))
        return gym.spaces.Box(low, high, dtype=np.float32)


def heading(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Heading (sin, cos) of poses (..., 7): direction of the object's x axis on the table."""
    w, x, y, z = (poses[..., index] for index in range(3, 7))
    sine, cosine = 2 * (x * y + w * z), 1 - 2 * (y * y + z * z)
    length = np.maximum(np.sqrt(sine**2 + cosine**2), 1e-9)
    return np.stack((sine / length, cosine / length), axis=-1)
