"""From physics to the arrays that agents see, and the spaces that describe them."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from jostle.core.measures import Measure
from jostle.scene.physics import Physics
from jostle.scene.spec import TABLE_TOP, TableSpec
from jostle.tasks.episode import Planar

_BOUND = 0.2
"""Meters beyond the table at which observed coordinates stop: a fallen object stays a number."""


@dataclass(frozen=True)
class StateReader:
    """Reads the entity set and the goals of one task layout."""

    measure: Measure
    """How the task is scored; decides the columns."""
    objects: int
    """Rows for objects."""
    table: TableSpec
    """Largest table in use; decides where coordinates are cut off."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `observation`."""
        turn = ("sin", "cos") if self.measure.kind == "yaw" else ()
        return ("x", "y", "z", *turn, *(("present",) if self.measure.padded else ()))

    @property
    def goal_columns(self) -> tuple[str, ...]:
        """Names of the columns of `achieved_goal` and `desired_goal`."""
        first = ("sin", "cos") if self.measure.kind == "yaw" else ("x", "y")
        return (*first, *(("present",) if self.measure.padded else ()))

    def spaces(self, rows: int) -> dict[str, gym.spaces.Box]:
        """Describe `observation` with `rows` rows, and the two goals."""
        return {
            "observation": self._box(self.columns, rows),
            "achieved_goal": self._box(self.goal_columns, self.objects),
            "desired_goal": self._box(self.goal_columns, self.objects),
        }

    def entities(self, physics: Physics, present: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The state set, (B, 1 + N, F): the gripper, then the objects; padding is all zeros."""
        poses = physics.objects[:, : self.objects]  # (B, N, 7)
        place = np.concatenate((physics.grip[:, None], poses[..., :3]), axis=1)  # (B, 1+N, 3)
        place[..., 2] -= TABLE_TOP
        limit = [self._limits()[name] for name in "xyz"]
        parts = [np.clip(place, [low for low, _ in limit], [high for _, high in limit])]
        if self.measure.kind == "yaw":
            still = np.broadcast_to((0.0, 1.0), (len(poses), 1, 2))
            parts.append(np.concatenate((still, heading(poses)), axis=1))  # (B, 1+N, 2)
        if self.measure.padded:
            parts.append(np.ones((*place.shape[:2], 1)))
        found = np.concatenate(parts, axis=-1).astype(np.float32)
        if not present.all():
            found[:, 1:][~present] = 0.0
        return found

    def achieved(self, entities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates of the objects, (B, N, width), as cut from the state set."""
        keep = [self.columns.index(name) for name in self.goal_columns]
        return entities[:, 1:, keep]

    def desired(self, goal: Planar, present: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Task coordinates (N, width) of a planar goal; padding is all zeros."""
        x, y, yaw = goal[: self.objects].T
        known = {"x": x, "y": y, "sin": np.sin(yaw), "cos": np.cos(yaw), "present": np.ones_like(x)}
        found = np.stack([known[name] for name in self.goal_columns], axis=-1)
        return np.where(present[:, None], found, 0.0).astype(np.float32)

    def _limits(self) -> dict[str, tuple[float, float]]:
        x, y = self.table.x / 2 + _BOUND, self.table.y / 2 + _BOUND
        one = (-1.0, 1.0)
        spans = {"x": (-x, x), "y": (-y, y), "z": (-1.1, 1.0), "sin": one, "cos": one}
        return {**spans, "present": (0.0, 1.0)}

    def _box(self, names: tuple[str, ...], rows: int) -> gym.spaces.Box:
        limits = np.array([self._limits()[name] for name in names], np.float32)  # (F, 2)
        low, high = (np.tile(limits[:, end], (rows, 1)) for end in (0, 1))
        return gym.spaces.Box(low, high, dtype=np.float32)


def heading(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Heading (sin, cos) of poses (..., 7): where the object's own x axis points on the table."""
    w, x, y, z = (poses[..., index] for index in range(3, 7))
    sine, cosine = 2 * (x * y + w * z), 1 - 2 * (y * y + z * z)
    length = np.maximum(np.sqrt(sine**2 + cosine**2), 1e-9)
    return np.stack((sine / length, cosine / length), axis=-1)
