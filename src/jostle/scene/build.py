"""`SceneSpec` to a compiled model and the indices that go with it."""

import functools
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.scene.arm import GRIP, JOINTS, RESET_POSE, add_arm
from jostle.scene.drive import ACTION_SECONDS, Workspace, add_drive
from jostle.scene.furniture import add_furniture, add_lights, robot_base
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import ObjectSpec, SceneSpec, TableSpec

SUBSTEPS = 40
"""Physics steps per action."""
_DENSITY = 1000.0
_PARKED = -2.0
_NOBODY = 8
"""Contact bit that nothing answers to: a geom with no bit at all would change the data layout."""
_LIFT = 1e-6
"""Meters by which the parts of a balanced object are lifted where shapes may change: MuJoCo packs
a body more tightly when its center of mass is its origin, and then layouts would differ."""
_CONTACT = ((0.025, 1.0), (0.9, 0.99, 0.001, 0.5, 2))
"""Time constant and impedance of every contact."""


@dataclass(frozen=True)
class World:
    """A compiled scene."""

    scene: SceneSpec
    """What was compiled."""
    model: mujoco.MjModel
    """MuJoCo's own form; treat as read-only."""
    row: NDArray[np.float64]
    """Integration state at reset: arm at its reset pose, every object parked."""
    grip: NDArray[np.float64]
    """Position of the grip site at reset."""
    space: Workspace
    """Where the gripper may be sent."""
    parts: NDArray[np.int64]
    """Ids of the geoms of each object slot, (N, parts)."""


def parked(slot: int) -> tuple[float, float, float]:
    """Where an absent object waits: below the ground, behind the robot, out of sight."""
    return (-3.0, 0.2 * slot - 1.2, _PARKED)


@functools.lru_cache(maxsize=512)
def build(scene: SceneSpec) -> World:
    """Compile a scene; equal scenes share one model."""
    offset, held = _reset_grip()
    spec = _bare(scene.table)
    add_furniture(spec, scene.table, scene.corridor, friction=_friction(scene))
    add_lights(spec)
    for slot, one in enumerate(scene.objects):
        _add_object(spec, slot, one, scene.parts)
    add_drive(spec, held)
    model = spec.compile()
    grip = np.array(robot_base(scene.table)) + offset
    space = Workspace.over(scene.table, held)
    parts = [
        [model.geom(f"object{slot}_part{part}").id for part in range(scene.parts)]
        for slot in range(len(scene.objects))
    ]
    return World(scene, model, _reset_row(model, grip), grip, space, np.array(parts))


def _friction(scene: SceneSpec) -> float:
    # MuJoCo takes the larger friction of a pair, so furniture must not exceed the objects'.
    return min(one.friction for one in scene.objects)


def _bare(table: TableSpec) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    option = spec.option
    option.timestep = ACTION_SECONDS / SUBSTEPS
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    option.iterations, option.ls_iterations = 20, 20
    # Hard contacts everywhere: fifty newtons on a cube of forty grams must not squeeze it.
    spec.default.geom.solref, spec.default.geom.solimp = _CONTACT
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.memory = 8 * 1024 * 1024
    spec.stat.center, spec.stat.extent = (0, 0, 1), 1.0
    spec.visual.quality.offsamples, spec.visual.quality.shadowsize = 4, 2048
    add_arm(spec, robot_base(table), friction=0.0)
    return spec


@functools.cache
def _reset_grip() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Grip site at the reset pose: offset from the base, and orientation as a quaternion."""
    model = _bare(TableSpec()).compile()
    data = mujoco.MjData(model)
    data.qpos[:] = RESET_POSE
    mujoco.mj_kinematics(model, data)
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, data.site(GRIP).xmat)
    return data.site(GRIP).xpos - np.array(robot_base(TableSpec())), quat


def _add_object(spec: mujoco.MjSpec, slot: int, one: ObjectSpec, parts: int) -> None:
    shape = SHAPES[one.shape]
    body = spec.worldbody.add_body(
        name=f"object{slot}", pos=parked(slot), gravcomp=0 if one.present else 1
    )
    body.add_freejoint(name=f"object{slot}")
    volumes = [float(np.prod(part.size)) for part in shape.boxes]
    density = one.mass * _DENSITY * (1 - shape.shared / sum(volumes))
    lift = _LIFT if parts > 1 and shape.balanced else 0
    for number in range(parts):
        used = number < len(shape.boxes)
        solid = used and one.present
        part = shape.boxes[number if used else 0]
        stretch = (*one.scale, 1.0)
        half = [size * by / 2 for size, by in zip(part.size, stretch, strict=True)]
        body.add_geom(
            name=f"object{slot}_part{number}", type=mujoco.mjtGeom.mjGEOM_BOX,
            size=half if used else (1e-3, 1e-3, 1e-3),
            pos=(part.center[0] * one.scale[0], part.center[1] * one.scale[1], lift),
            quat=(np.cos(part.yaw / 2), 0, 0, np.sin(part.yaw / 2)),
            density=density if used else 0,
            contype=1 if solid else _NOBODY, conaffinity=1 if solid else 0,
            friction=(one.friction, 0.005, 0.0001),
        )  # fmt: skip


def _reset_row(model: mujoco.MjModel, grip: NDArray[np.float64]) -> NDArray[np.float64]:
    data = mujoco.MjData(model)
    for name, angle in zip(JOINTS, RESET_POSE, strict=True):
        data.joint(name).qpos = angle
    data.ctrl[:3] = grip
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    row = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, row, kind)
    return row
