"""The arm: true kinematics, and a controller that reaches its targets."""

import mujoco
import numpy as np
import pytest

from jostle.scene.arm import GRIP, JOINTS, RETRACTED_POSE
from jostle.scene.build import compile_scene
from jostle.scene.controller import HEIGHT_RANGE
from jostle.scene.physics import Physics
from jostle.scene.robot import GRIP_OFFSET, robot_base
from jostle.scene.spec import TABLE_TOP, ObjectSpec, SceneSpec, TableSpec

STANDARD, SMALL = TableSpec(), TableSpec(x=0.3, y=0.3)


def empty_scene(table: TableSpec = STANDARD) -> SceneSpec:
    return SceneSpec(objects=(ObjectSpec(present=False),), table=table)


def travel(physics: Physics, positions: np.ndarray, steps: int = 14) -> None:
    """Bring the gripper of every simulation to its position by small moves."""
    active = np.ones(physics.num_envs, bool)
    for _ in range(steps):
        action = np.clip((positions - physics.grip) / 0.125, -1, 1)
        assert physics.step(action, active) == {}


@pytest.mark.parametrize(("table", "x"), [(STANDARD, -0.002), (SMALL, 0.098)])
def test_the_grip_site_at_reset_is_where_the_original_has_it(table, x):
    grip = compile_scene(empty_scene(table)).grip
    np.testing.assert_allclose(grip, (x, 0.0, 1.0381), atol=5e-4)
    np.testing.assert_allclose(grip - np.array(robot_base(table)), GRIP_OFFSET, atol=1e-3)


def test_the_hand_is_tilted_by_seven_degrees_at_reset():
    compiled = compile_scene(empty_scene())
    data = mujoco.MjData(compiled.model)
    mujoco.mj_setState(
        compiled.model, data, compiled.initial_state, mujoco.mjtState.mjSTATE_INTEGRATION
    )
    mujoco.mj_forward(compiled.model, data)
    approach = data.site(GRIP).xmat.reshape(3, 3)[:, 2]
    np.testing.assert_allclose(approach, (0.127, 0, -0.992), atol=1e-3)


def test_the_retracted_pose_is_within_limits_behind_the_table_and_above_all_cubes():
    compiled = compile_scene(empty_scene())
    data = mujoco.MjData(compiled.model)
    for name, angle in zip(JOINTS, RETRACTED_POSE, strict=True):
        low, high = compiled.model.joint(name).range
        assert low <= angle <= high
        data.joint(name).qpos = angle
    mujoco.mj_kinematics(compiled.model, data)
    x, y, z = data.site(GRIP).xpos
    assert x < -0.2
    assert abs(y) < 1e-6
    assert z - 0.03 > TABLE_TOP + 0.035


@pytest.mark.parametrize("table", [STANDARD, SMALL])
def test_one_action_reaches_most_of_a_free_space_move(table):
    reach = 0.2 if table == STANDARD else 0.15
    positions = [(x, y) for x in np.linspace(-reach, reach, 6) for y in np.linspace(-0.2, 0.2, 5)]
    positions = [(x, y) for x, y in positions if abs(y) <= table.y / 2]
    angles = np.arange(8) * np.pi / 4
    cases = [
        (x, y, r * np.cos(t), r * np.sin(t)) for x, y in positions for t in angles for r in (0.5, 1)
    ]
    start, moves = np.array(cases)[:, :2], np.array(cases)[:, 2:]
    physics = Physics(empty_scene(table), len(cases), threads=2)
    travel(physics, np.c_[start, np.full(len(cases), TABLE_TOP + 0.027)])
    actions = np.c_[moves, np.zeros(len(cases))]
    before = physics.grip.copy()
    commands = physics.scenes[0].workspace.commands(before, actions)
    physics.step(actions, np.ones(len(cases), bool))

    wanted, reached = (commands[:, :3] - before)[:, :2], (physics.grip - before)[:, :2]
    length = np.linalg.norm(wanted, axis=-1)
    inside = (length > 0.03) & (np.abs(commands[:, 0]) <= 0.2)
    fraction = (wanted * reached).sum(-1)[inside] / length[inside] ** 2
    assert len(fraction) > 100
    assert fraction.min() > 0.85
    assert fraction.max() <= 1.0
    assert np.abs(physics.grip[:, 2] - commands[:, 2]).max() < 0.005


def test_the_hand_keeps_its_orientation_and_tilts_only_close_to_the_robot():
    positions = [(x, y) for x in (-0.1, 0.0, 0.1, 0.2) for y in (-0.2, 0.0, 0.2)]
    positions += [(-0.2, 0.0), (-0.24, 0.0)]
    physics = Physics(empty_scene(), len(positions), threads=2)
    travel(physics, np.c_[np.array(positions), np.full(len(positions), TABLE_TOP + 0.03)])
    tilt = physics.tilt()
    assert np.degrees(tilt[:-2]).max() < 3
    assert np.degrees(tilt[-2:]).min() > 5
    assert np.degrees(tilt).max() < 35


def test_no_command_leaves_the_workspace(rng):
    compiled = compile_scene(empty_scene())
    grip = rng.uniform((-0.3, -0.35, 1.0), (0.3, 0.35, 1.1), (500, 3))
    commands = compiled.workspace.commands(grip, rng.uniform(-3, 3, (500, 3)))
    assert (np.abs(commands[:, 0]) <= 0.2675 + 1e-9).all()
    assert (np.abs(commands[:, 1]) <= 0.3175 + 1e-9).all()
    assert (commands[:, 2] >= HEIGHT_RANGE[0]).all()
    assert (commands[:, 2] <= HEIGHT_RANGE[1]).all()
