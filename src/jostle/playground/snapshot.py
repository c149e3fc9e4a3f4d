"""One moment of an environment, as the page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.render import RenderRequest
from jostle.playground.edits import planar_poses
from jostle.scene.spec import TABLE_TOP

_FALLEN = 0.02
"""Meters below the table's surface from which on an object counts as fallen."""


@dataclass(frozen=True)
class Snapshot:
    """One moment of the simulation."""

    request: RenderRequest
    """The scene, to be rendered."""
    objects: NDArray[np.float64]
    """x, y, yaw and height above the table of every slot, (N, 4)."""
    gripper: NDArray[np.float64]
    """Position of the gripper, (3,), the height above the table."""
    status: dict[str, Any]
    """Step, distances, success and what the agent saw, as of the last whole action."""

    def to_json(self) -> dict[str, Any]:
        """Everything but the scene; None for slots that are not on the table."""
        rows = [None if np.isnan(row[0]) else rounded(row, 4) for row in self.objects]
        return {**self.status, "objects": rows, "gripper": rounded(self.gripper, 4)}


def take_snapshot(env: TabletopVectorEnv, status: dict[str, Any]) -> Snapshot:
    """The present moment of the first environment."""
    request = env.render_requests()[0]
    physics, objects = env.physics, env.episodes[0].scene.objects
    height = physics.objects[0, :, 2:3] - TABLE_TOP
    gripper = physics.grip[0] - (0.0, 0.0, TABLE_TOP)
    rows = np.concatenate((planar_poses(physics.objects[0], objects), height), axis=1)
    copied = RenderRequest(request.scene, request.qpos.copy(), request.appearance)
    return Snapshot(copied, rows, gripper, status)


def status_of(env: TabletopVectorEnv, infos: Mapping[str, Any]) -> dict[str, Any]:
    """Distances and success of the first environment."""
    distances = infos["distances"][0].astype(np.float64)
    heights = env.physics.objects[0, : len(distances), 2]
    return {
        "distances": rounded(distances, 4),
        "reached": (distances < env.goal_metric.radius).tolist(),
        "fallen": (heights < TABLE_TOP - _FALLEN).tolist(),
        "success": bool(infos["is_success"][0]),
    }


def rounded(values: NDArray[Any], digits: int) -> list[float]:
    """Values as a list, short in JSON."""
    short: list[float] = np.round(values.astype(np.float64), digits).tolist()
    return short
