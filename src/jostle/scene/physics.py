"""A batch of simulations of one scene layout, stepped together. No goals, images or randomness."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import NDArray

from jostle.scene.arm import GRIP, JOINTS
from jostle.scene.build import SUBSTEPS, CompiledScene, compile_scene, parked
from jostle.scene.controller import TARGET_ORIENTATION, Workspace
from jostle.scene.shapes import rest_height
from jostle.scene.spec import TABLE_TOP, SceneSpec

_ARM_JOINTS = len(JOINTS)
_STAGE = mujoco.mjtStage.mjSTAGE_POS.value
_MAX_ABS = 50.0
"""Meters that no object of a stable simulation reaches; ten times as many meters per second."""


def table_poses(scene: SceneSpec, planar: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lift (N, 3) planar poses (x, y, yaw) to (N, 7) positions and quaternions on the table.

    Objects whose pose is NaN are parked out of sight.
    """
    poses = np.zeros((len(scene.objects), 7))
    for slot, (obj, (x, y, yaw)) in enumerate(zip(scene.objects, planar, strict=True)):
        if np.isnan(x):
            poses[slot] = (*parked(slot), 1, 0, 0, 0)
        else:
            z = TABLE_TOP + rest_height(obj)
            poses[slot] = (x, y, z, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2))
    return poses


class Physics:
    """A batch of simulations; each may have a compiled scene of its own with the same layout."""

    def __init__(self, scene: SceneSpec, num_envs: int, threads: int = 0) -> None:
        """Start `num_envs` simulations of `scene` on `threads` threads (0: one per core)."""
        compiled = compile_scene(scene)
        self._threads = threads
        self.scenes = [compiled] * num_envs
        self._batch = Batch(compiled.model, num_envs, nthread=threads)
        self._batch.state[:] = compiled.initial_state
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._ctrl, self._sites = self._batch.bind("ctrl"), self._batch.bind("site_xpos")
        self._grip = compiled.model.site(GRIP).id
        self._batch.forward(stage=_STAGE)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle scenes and states."""
        return {"scenes": self.scenes, "states": self.states.copy(), "threads": self._threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build a batch and restore the states."""
        scenes: list[CompiledScene] = state["scenes"]
        Physics.__init__(self, scenes[0].spec, len(scenes), state["threads"])
        self.restore(state["states"], scenes)

    @property
    def num_envs(self) -> int:
        """Number of simulations."""
        return self._batch.nsim

    @property
    def grip(self) -> NDArray[np.float64]:
        """Positions of the grip sites, (B, 3)."""
        return self._sites[:, self._grip]

    @property
    def objects(self) -> NDArray[np.float64]:
        """Poses of all slots, (B, N, 7): position and quaternion."""
        return self._qpos[:, _ARM_JOINTS:].reshape(self.num_envs, -1, 7)

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Linear and angular velocities of all slots, (B, N, 6)."""
        return self._qvel[:, _ARM_JOINTS:].reshape(self.num_envs, -1, 6)

    @property
    def arm(self) -> NDArray[np.float64]:
        """Positions and velocities of the arm's joints, (B, 2, joints); a copy."""
        return np.stack((self._qpos[:, :_ARM_JOINTS], self._qvel[:, :_ARM_JOINTS]), axis=1)

    @arm.setter
    def arm(self, joints: NDArray[np.float64]) -> None:
        self._qpos[:, :_ARM_JOINTS], self._qvel[:, :_ARM_JOINTS] = joints[:, 0], joints[:, 1]
        self._batch.forward(stage=_STAGE)

    @property
    def qpos(self) -> NDArray[np.float64]:
        """Joint positions, (B, nq): all that rendering needs."""
        return self._qpos

    @property
    def states(self) -> NDArray[np.float64]:
        """The whole integration state, (B, S): a restored simulation resumes bit-for-bit."""
        return self._batch.state

    def tilt(self) -> NDArray[np.float64]:
        """Angle between each hand and its target orientation, (B,), in radians."""
        model = self._batch.model
        axes = self._batch.bind("site_xmat")
        self._batch.forward(stage=_STAGE)
        hand, target = (axes[:, model.site(name).id] for name in (GRIP, TARGET_ORIENTATION))
        trace = (hand * target).reshape(self.num_envs, -1).sum(-1)
        return np.arccos(np.clip((trace - 1) / 2, -1, 1))

    def reset(
        self,
        env_ids: Sequence[int] | NDArray[np.int64],
        scenes: Sequence[CompiledScene],
        poses: NDArray[np.float64],
    ) -> None:
        """Reset some simulations: arm at its reset pose, objects at `poses` (b, N, 7)."""
        for env_id, scene in zip(env_ids, scenes, strict=True):
            self._set_model(env_id, scene)
            self._batch.state[env_id] = scene.initial_state
        self.objects[np.asarray(env_ids)] = poses
        self._batch.forward(ids=np.asarray(env_ids, np.int32), stage=_STAGE)

    def place(self, env_id: int, slot: int, pose: NDArray[np.float64]) -> None:
        """Put one object at a pose (7,), at rest."""
        self.objects[env_id, slot] = pose
        self.velocities[env_id, slot] = 0.0
        self._batch.forward(ids=np.array([env_id], np.int32), stage=_STAGE)

    def restore(self, states: NDArray[np.float64], scenes: Sequence[CompiledScene]) -> None:
        """Set every simulation to a saved state (B, S) of its scene."""
        for env_id, scene in enumerate(scenes):
            self._set_model(env_id, scene)
        self._batch.state[:] = states
        self._batch.forward(stage=_STAGE)

    def step(self, actions: NDArray[np.float64], active: NDArray[np.bool_]) -> dict[int, str]:
        """Apply one action (B, 3) in every simulation that is marked True in `active` (B,).

        Returns:
            What went wrong, by simulation. Such a simulation keeps its state before the action.
        """
        env_ids = np.flatnonzero(active).astype(np.int32)
        if not len(env_ids):
            return {}
        before = self._batch.state[env_ids].copy()
        warnings_before = self._batch.warning[env_ids, :, 1].copy()
        for workspace, members in self._by_workspace(env_ids):
            self._ctrl[members] = workspace.commands(self.grip[members], actions[members])

        # Simulate, and undo the action where it failed
        failures = self._simulate(env_ids, SUBSTEPS)
        failures |= self._diverged(env_ids, warnings_before)
        if failures:
            failed = np.array(sorted(failures), np.int32)
            self._batch.state[failed] = before[np.searchsorted(env_ids, failed)]
            self._batch.forward(ids=failed, stage=_STAGE)
        return failures

    def _simulate(self, env_ids: NDArray[np.int32], substeps: int) -> dict[int, str]:
        """Run some physics steps; returns the errors, by simulation."""
        try:
            self._batch.step(ids=env_ids, nstep=substeps, stage=_STAGE)
        except SimulationError as error:
            return {int(env_id): self._batch.error(int(env_id)) for env_id in error.ids}
        return {}

    def _set_model(self, env_id: int, scene: CompiledScene) -> None:
        if self.scenes[env_id] is scene:
            return
        self.scenes[env_id] = scene
        self._batch.set_models([compiled.model for compiled in self.scenes])

    def _by_workspace(
        self, env_ids: NDArray[np.int32]
    ) -> list[tuple[Workspace, NDArray[np.int32]]]:
        """Group simulations by table, which gives their workspace: nearly always one group."""
        workspaces = [self.scenes[env_id].workspace for env_id in env_ids]
        if len({self.scenes[env_id].spec.table for env_id in env_ids}) == 1:
            return [(workspaces[0], env_ids)]
        return [
            (workspace, env_ids[index : index + 1]) for index, workspace in enumerate(workspaces)
        ]

    def _diverged(
        self, env_ids: NDArray[np.int32], warnings_before: NDArray[np.int32]
    ) -> dict[int, str]:
        """Say which simulations left all bounds or made MuJoCo warn, and why."""
        qpos, qvel = self._qpos[env_ids], self._qvel[env_ids]
        bounded = np.isfinite(qpos).all(-1) & np.isfinite(qvel).all(-1)
        with np.errstate(invalid="ignore"):
            bounded &= (np.abs(qpos).max(-1) < _MAX_ABS) & (np.abs(qvel).max(-1) < 10 * _MAX_ABS)
        warned = self._batch.warning[env_ids, :, 1] > warnings_before  # (b, warning types)
        reasons = {
            int(env_ids[index]): "its state left all bounds" for index in np.flatnonzero(~bounded)
        }
        for index, warning in zip(*np.nonzero(warned), strict=True):
            name = mujoco.mjtWarning(int(warning)).name.removeprefix("mjWARN_")
            reasons[int(env_ids[index])] = f"MuJoCo warned of {name}"
        return reasons
