"""Many copies of one scene layout, stepped together. No goals, no pictures, no randomness."""

from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import NDArray

from jostle.scene.arm import GRIP, JOINTS
from jostle.scene.build import SUBSTEPS, World, build, parked
from jostle.scene.drive import Workspace
from jostle.scene.shapes import rest_height
from jostle.scene.spec import TABLE_TOP, SceneSpec

_ARM = len(JOINTS)
_STAGE = mujoco.mjtStage.mjSTAGE_POS.value
_FAR = 50.0
"""Meters or meters per second that no healthy object reaches."""


def table_poses(scene: SceneSpec, planar: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lift (N, 3) planar poses (x, y, yaw) to (N, 7) positions and quaternions on the table.

    Rows of NaN are parked out of sight.
    """
    poses = np.zeros((len(scene.objects), 7))
    for slot, (one, (x, y, yaw)) in enumerate(zip(scene.objects, planar, strict=True)):
        if np.isnan(x):
            poses[slot] = (*parked(slot), 1, 0, 0, 0)
        else:
            z = TABLE_TOP + rest_height(one)
            poses[slot] = (x, y, z, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2))
    return poses


class Physics:
    """A batch of simulations; copy i may run on a world of its own with the same layout."""

    def __init__(self, scene: SceneSpec, copies: int, threads: int = 0) -> None:
        """Start `copies` of `scene`, stepped on `threads` threads (0: one per core)."""
        world = build(scene)
        self.worlds = [world] * copies
        self._batch = Batch(world.model, copies, nthread=threads)
        self._batch.state[:] = world.row
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._ctrl, self._sites = self._batch.bind("ctrl"), self._batch.bind("site_xpos")
        self._grip = world.model.site(GRIP).id
        self._batch.forward(stage=_STAGE)

    @property
    def copies(self) -> int:
        """How many simulations there are."""
        return self._batch.nsim

    @property
    def grip(self) -> NDArray[np.float64]:
        """Positions of the grip sites, (B, 3)."""
        return self._sites[:, self._grip]

    @property
    def objects(self) -> NDArray[np.float64]:
        """Poses of all slots, (B, N, 7): position and quaternion."""
        return self._qpos[:, _ARM:].reshape(self.copies, -1, 7)

    @property
    def qpos(self) -> NDArray[np.float64]:
        """Joint positions, (B, nq): all that a picture needs."""
        return self._qpos

    @property
    def rows(self) -> NDArray[np.float64]:
        """The whole integration state, (B, S): what makes a simulation go on bit by bit."""
        return self._batch.state

    def tilt(self) -> NDArray[np.float64]:
        """Angle between each hand and its held orientation, (B,), in radians."""
        model = self._batch.model
        axes = self._batch.bind("site_xmat")
        self._batch.forward(stage=_STAGE)
        hand, held = (axes[:, model.site(name).id] for name in (GRIP, "held"))
        trace = (hand * held).reshape(self.copies, -1).sum(-1)
        return np.arccos(np.clip((trace - 1) / 2, -1, 1))

    def load(
        self,
        copies: Sequence[int] | NDArray[np.int64],
        worlds: Sequence[World],
        poses: NDArray[np.float64],
    ) -> None:
        """Restart some copies: arm at its reset pose, objects at `poses` (b, N, 7)."""
        for copy, world in zip(copies, worlds, strict=True):
            self._enter(copy, world)
            self._batch.state[copy] = world.row
        self.objects[np.asarray(copies)] = poses
        self._batch.forward(ids=np.asarray(copies, np.int32), stage=_STAGE)

    def restore(self, rows: NDArray[np.float64], worlds: Sequence[World]) -> None:
        """Put every copy back to a saved row on its world."""
        for copy, world in enumerate(worlds):
            self._enter(copy, world)
        self._batch.state[:] = rows
        self._batch.forward(stage=_STAGE)

    def act(self, actions: NDArray[np.float64], copies: NDArray[np.bool_]) -> dict[int, str]:
        """Let the copies marked True carry out one action each.

        Returns:
            What went wrong, by copy. Such a copy is put back to where it was before the action.
        """
        moving = np.flatnonzero(copies).astype(np.int32)
        if not len(moving):
            return {}
        before = self._batch.state[moving].copy()
        warned = self._batch.warning[moving, :, 1].copy()
        for space, members in self._by_space(moving):
            self._ctrl[members] = space.commands(self.grip[members], actions[members])
        failures: dict[int, str] = {}
        try:
            self._batch.step(ids=moving, nstep=SUBSTEPS, stage=_STAGE)
        except SimulationError as error:
            failures = {int(copy): self._batch.error(int(copy)) for copy in error.ids}
        failures |= self._unwell(moving, warned)
        if failures:
            broken = np.array(sorted(failures), np.int32)
            self._batch.state[broken] = before[np.searchsorted(moving, broken)]
            self._batch.forward(ids=broken, stage=_STAGE)
        return failures

    def _enter(self, copy: int, world: World) -> None:
        if self.worlds[copy] is world:
            return
        self.worlds[copy] = world
        self._batch.set_models([one.model for one in self.worlds])

    def _by_space(self, moving: NDArray[np.int32]) -> list[tuple[Workspace, NDArray[np.int32]]]:
        """Group copies by the table they work on: nearly always one group."""
        spaces = [self.worlds[copy].space for copy in moving]
        if len({self.worlds[copy].scene.table for copy in moving}) == 1:
            return [(spaces[0], moving)]
        return [(space, moving[index : index + 1]) for index, space in enumerate(spaces)]

    def _unwell(self, moving: NDArray[np.int32], warned: NDArray[np.int32]) -> dict[int, str]:
        qpos, qvel = self._qpos[moving], self._qvel[moving]
        sane = np.isfinite(qpos).all(-1) & np.isfinite(qvel).all(-1)
        with np.errstate(invalid="ignore"):
            sane &= (np.abs(qpos).max(-1) < _FAR) & (np.abs(qvel).max(-1) < 10 * _FAR)
        full = self._batch.warning[moving, :, 1] > warned  # (b, kinds)
        reasons = {
            int(moving[index]): "its state left all bounds" for index in np.flatnonzero(~sane)
        }
        for index, kind in zip(*np.nonzero(full), strict=True):
            name = mujoco.mjtWarning(int(kind)).name.removeprefix("mjWARN_")
            reasons[int(moving[index])] = f"MuJoCo warned of {name}"
        return reasons
