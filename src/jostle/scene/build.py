"""Compile a `SceneSpec` to a MuJoCo model and the indices that go with it."""

import functools
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.scene.arm import GRIP, JOINTS, RESET_POSE, RETRACTED_POSE, add_arm
from jostle.scene.controller import ACTION_SECONDS, Workspace, add_controller
from jostle.scene.furniture import add_furniture, add_lights
from jostle.scene.robot import robot_base
from jostle.scene.shapes import DENSITY, SHAPES
from jostle.scene.spec import ObjectSpec, SceneSpec, TableSpec

SUBSTEPS = 40
"""Physics steps per action."""
_PARKED_Z = -2.0
_NO_COLLISION = 8
"""Contact bit that no other geom has: a geom without any bit would change the data layout."""
_BALANCE_OFFSET = 1e-6
"""Meters by which the parts of a balanced object are lifted where shapes may change: MuJoCo packs
a body more tightly when its center of mass is its origin, and then data layouts would differ."""
_CONTACT = ((0.025, 1.0), (0.9, 0.99, 0.001, 0.5, 2))
"""Time constant and impedance of every contact."""


@dataclass(frozen=True)
class CompiledScene:
    """A scene that is ready to simulate."""

    spec: SceneSpec
    """What was compiled."""
    model: mujoco.MjModel
    """The MuJoCo model; treat as read-only."""
    initial_state: NDArray[np.float64]
    """Integration state at reset: arm at its reset pose, every object parked."""
    grip: NDArray[np.float64]
    """Position of the grip site at reset."""
    workspace: Workspace
    """Where the gripper may be sent."""
    geom_ids: NDArray[np.int64]
    """Ids of the geoms of each object slot, (N, parts)."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the specification; unpickling compiles it, or takes the cached model."""
        return compile_scene, (self.spec,)


def parked(slot: int) -> tuple[float, float, float]:
    """Position of an absent object: below the ground, behind the robot, out of sight."""
    return (-3.0, 0.2 * slot - 1.2, _PARKED_Z)


@functools.lru_cache(maxsize=512)
def compile_scene(scene: SceneSpec) -> CompiledScene:
    """Compile a scene; equal scenes share one model."""
    # Model
    grip_offset, hand_quat = _grip_at(RESET_POSE)
    spec = _base_spec(scene.table)
    add_furniture(spec, scene.table, scene.corridor, friction=_friction(scene))
    add_lights(spec)
    for slot, obj in enumerate(scene.objects):
        _add_object(spec, slot, obj, scene.parts)
    add_controller(spec, hand_quat)
    model = spec.compile()

    # State at reset and indices
    grip = np.array(robot_base(scene.table)) + grip_offset
    workspace = Workspace.over(scene.table, hand_quat)
    geom_ids = [
        [model.geom(f"object{slot}_part{part}").id for part in range(scene.parts)]
        for slot in range(len(scene.objects))
    ]
    state = _initial_state(model, grip)
    return CompiledScene(scene, model, state, grip, workspace, np.array(geom_ids))


def _friction(scene: SceneSpec) -> float:
    # MuJoCo takes the larger friction of a pair, so furniture must not exceed the objects'.
    return min(obj.friction for obj in scene.objects)


def _base_spec(table: TableSpec) -> mujoco.MjSpec:
    """Solver options and the arm."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    option = spec.option
    option.timestep = ACTION_SECONDS / SUBSTEPS
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    option.iterations, option.ls_iterations = 20, 20
    # Stiff contacts: fifty newtons on a cube of forty grams must not squeeze it.
    spec.default.geom.solref, spec.default.geom.solimp = _CONTACT
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.memory = 8 * 1024 * 1024
    spec.stat.center, spec.stat.extent = (0, 0, 1), 1.0
    spec.visual.quality.offsamples, spec.visual.quality.shadowsize = 4, 2048
    add_arm(spec, robot_base(table), friction=0.0)
    return spec


def retracted_grip(table: TableSpec) -> NDArray[np.float64]:
    """Position of the grip site in goal images."""
    return np.array(robot_base(table)) + _grip_at(RETRACTED_POSE)[0]


@functools.cache
def _grip_at(pose: tuple[float, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Grip site with these joint angles: offset from the base, and orientation as a quaternion."""
    model = _base_spec(TableSpec()).compile()
    data = mujoco.MjData(model)
    data.qpos[:] = pose
    mujoco.mj_kinematics(model, data)
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, data.site(GRIP).xmat)
    return data.site(GRIP).xpos - np.array(robot_base(TableSpec())), quat


def _add_object(spec: mujoco.MjSpec, slot: int, obj: ObjectSpec, parts: int) -> None:
    """Add a free body of `parts` boxes; boxes that the shape does not need have no mass."""
    shape = SHAPES[obj.shape]
    body = spec.worldbody.add_body(
        name=f"object{slot}", pos=parked(slot), gravcomp=0 if obj.present else 1
    )
    body.add_freejoint(name=f"object{slot}")
    volumes = [float(np.prod(box.size)) for box in shape.boxes]
    density = obj.mass * DENSITY * (1 - shape.shared / sum(volumes))
    lift = _BALANCE_OFFSET if parts > 1 and shape.balanced else 0
    for number in range(parts):
        used = number < len(shape.boxes)
        solid = used and obj.present
        box = shape.boxes[number if used else 0]
        stretch = (*obj.scale, 1.0)
        half_sizes = [size * factor / 2 for size, factor in zip(box.size, stretch, strict=True)]
        body.add_geom(
            name=f"object{slot}_part{number}", type=mujoco.mjtGeom.mjGEOM_BOX,
            size=half_sizes if used else (1e-3, 1e-3, 1e-3),
            pos=(box.center[0] * obj.scale[0], box.center[1] * obj.scale[1], lift),
            quat=(np.cos(box.yaw / 2), 0, 0, np.sin(box.yaw / 2)),
            density=density if used else 0,
            contype=1 if solid else _NO_COLLISION, conaffinity=1 if solid else 0,
            friction=(obj.friction, 0.005, 0.0001),
        )  # fmt: skip


def _initial_state(model: mujoco.MjModel, grip: NDArray[np.float64]) -> NDArray[np.float64]:
    data = mujoco.MjData(model)
    for name, angle in zip(JOINTS, RESET_POSE, strict=True):
        data.joint(name).qpos = angle
    data.ctrl[:3] = grip
    signature = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, signature))
    mujoco.mj_getState(model, data, state, signature)
    return state
