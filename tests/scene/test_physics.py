"""Pushing is stable: objects do not sink, drift or pass through each other."""

import pickle

import numpy as np
import pytest

from jostle.core.errors import BadValueError
from jostle.scene.build import compile_scene
from jostle.scene.furniture import WALLS
from jostle.scene.physics import Physics, table_poses
from jostle.scene.shapes import SHAPES, rest_height
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP, ObjectSpec, SceneSpec, TableSpec


def make_physics(scene: SceneSpec, planar: np.ndarray, threads: int = 2) -> Physics:
    """Start one simulation per planar arrangement (B, N, 3)."""
    physics = Physics(scene, len(planar), threads)
    poses = np.stack([table_poses(scene, poses) for poses in planar])
    physics.reset(range(len(planar)), [compile_scene(scene)] * len(planar), poses)
    return physics


def grid(count: int) -> np.ndarray:
    spots = [(x, y, 0.0) for x in (-0.15, -0.07, 0.07, 0.15) for y in (-0.12, 0.0, 0.12)]
    return np.array(spots[:count])


def test_resting_objects_neither_sink_nor_drift_over_a_thousand_steps():
    scene = SceneSpec(objects=tuple(ObjectSpec(shape=shape) for shape in SHAPES), parts=5)
    planar = grid(9)[[0, 1, 8]]
    physics = make_physics(scene, planar[None])
    still = np.array([[0.0, 0.0, 0.0]])
    for _ in range(1000):
        assert physics.step(still, np.ones(1, bool)) == {}
    pose = physics.objects[0]
    rest = np.array([TABLE_TOP + rest_height(obj) for obj in scene.objects])
    assert np.abs(pose[:, :2] - planar[:, :2]).max() < 1e-3
    assert np.abs(pose[:, 2] - rest).max() < 1e-3
    assert np.abs(pose[:, 4:6]).max() < 1e-2


def test_a_stack_of_twelve_cubes_is_stable():
    scene = SceneSpec(objects=(ObjectSpec(),) * 12)
    physics = make_physics(scene, np.stack([grid(12)] * 2))
    # Three layers of two by two: the most contacts that twelve cubes can have.
    stack = [(0.036 * i + 0.1, 0.036 * j, k) for k in range(3) for i in range(2) for j in range(2)]
    for slot, (x, y, layer) in enumerate(stack):
        physics.objects[:, slot, :3] = (x, y, TABLE_TOP + CUBE_SIDE * (layer + 0.5))
    for _ in range(60):
        assert physics.step(np.zeros((2, 3)), np.ones(2, bool)) == {}
    height = np.sort(physics.objects[0, :, 2]) - TABLE_TOP
    assert height[0] > CUBE_SIDE / 2 - 1e-3
    assert height[-1] > 2 * CUBE_SIDE, "the stack stands"


def test_hard_pushes_move_no_cube_through_another_or_into_the_table(rng):
    scene = SceneSpec(objects=(ObjectSpec(),) * 6)
    planar = np.array(
        [(0.05 + 0.036 * i, 0.036 * j - 0.018, 0) for i in range(3) for j in range(2)]
    )
    physics = make_physics(scene, np.stack([planar] * 8))
    for step in range(40):
        action = np.tile((1.0 if step % 4 < 2 else -1.0, 0.0, -1.0), (8, 1))
        action[:, 1] = rng.uniform(-0.5, 0.5, 8)
        assert physics.step(action, np.ones(8, bool)) == {}
        position = physics.objects[..., :3]
        above = (np.abs(position[..., 0]) < 0.23) & (np.abs(position[..., 1]) < 0.28)
        assert position[..., 2][above].min() > TABLE_TOP + CUBE_SIDE / 2 - 3e-3
        gap = np.linalg.norm(position[:, :, None] - position[:, None], axis=-1)
        gap[:, np.arange(6), np.arange(6)] = 1
        gap[~(above[:, :, None] & above[:, None])] = 1
        assert gap.min() > CUBE_SIDE - 4e-3


def test_the_gripper_pushes_a_cube_and_never_passes_through_it():
    scene = SceneSpec(objects=(ObjectSpec(),))
    physics = make_physics(scene, np.array([[[0.06, 0.0, 0.0]]]))
    for _ in range(5):
        physics.step(np.array([[0.4, 0.0, -1.0]]), np.ones(1, bool))
        assert physics.objects[0, 0, 0] > physics.grip[0, 0] + 0.02
    assert physics.objects[0, 0, 0] > 0.2


def test_walls_stop_cubes():
    scene = SceneSpec(objects=(ObjectSpec(),), corridor=True)
    (wall_x, wall_y), (length, _) = WALLS[0]
    physics = make_physics(scene, np.array([[[0.08, wall_y, 0.0]]]))
    for _ in range(6):
        move = np.array((0.03, wall_y)) - physics.grip[0, :2]
        physics.step(np.array([[*np.clip(move / 0.125, -1, 1), -1.0]]), np.ones(1, bool))
    for _ in range(3):
        physics.step(np.array([[0.6, 0.0, -1.0]]), np.ones(1, bool))
    assert physics.objects[0, 0, 0] < wall_x - length / 2 - CUBE_SIDE / 2 + 3e-3


def test_a_fallen_object_comes_to_rest_on_the_ground():
    scene = SceneSpec(objects=(ObjectSpec(),), table=TableSpec(x=0.3, y=0.3))
    physics = make_physics(scene, np.array([[[0.13, 0.0, 0.0]]]))
    physics.objects[0, 0, :3] = (0.3, 0.1, TABLE_TOP + 0.02)
    for _ in range(12):
        physics.step(np.zeros((1, 3)), np.ones(1, bool))
    first = physics.objects[0, 0].copy()
    for _ in range(10):
        physics.step(np.zeros((1, 3)), np.ones(1, bool))
    assert first[2] == pytest.approx(CUBE_SIDE / 2, abs=2e-3)
    assert np.abs(physics.objects[0, 0, :3] - first[:3]).max() < 1e-3


def test_parked_slots_change_nothing_for_the_others():
    planar = np.full((1, 4, 3), np.nan)
    planar[0, :2] = ((0.08, 0.0, 0.0), (0.1, 0.1, 0.0))
    with_parked = SceneSpec(objects=(ObjectSpec(),) * 2 + (ObjectSpec(present=False),) * 2)
    without = SceneSpec(objects=(ObjectSpec(),) * 2)
    many, few = make_physics(with_parked, planar), make_physics(without, planar[:, :2])
    for _ in range(4):
        action = np.array([[0.4, 0.1, -1.0]])
        many.step(action, np.ones(1, bool))
        few.step(action, np.ones(1, bool))
    assert few.objects[0, 0, 0] > 0.12
    np.testing.assert_allclose(many.objects[0, :2, :3], few.objects[0, :, :3], atol=1e-3)
    assert (many.objects[0, 2:, 2] == -2.0).all()


def test_mass_and_scale_change_the_compiled_object():
    plain, heavy, long = (
        compile_scene(SceneSpec(objects=(obj,))).model
        for obj in (ObjectSpec(), ObjectSpec(mass=10), ObjectSpec(scale=(1.5, 1.0)))
    )
    mass = [model.body("object0").mass[0] for model in (plain, heavy, long)]
    assert mass[0] == pytest.approx(0.0429, abs=1e-4)
    assert mass[1] == pytest.approx(10 * mass[0])
    assert mass[2] == pytest.approx(1.5 * mass[0])
    assert long.geom("object0_part0").size[0] == pytest.approx(0.75 * CUBE_SIDE)


def test_mass_and_center_of_mass_of_the_t_block():
    model = compile_scene(SceneSpec(objects=(ObjectSpec(shape="tee"),), parts=5)).model
    assert model.body("object0").mass[0] == pytest.approx(0.117, abs=1e-3)
    assert model.body("object0").ipos[0] == pytest.approx(0.0138, abs=2e-4)


@pytest.mark.parametrize(
    "make_invalid",
    [
        lambda: SceneSpec(objects=(ObjectSpec(),) * 13),
        lambda: SceneSpec(objects=()),
        lambda: ObjectSpec(scale=(-1.0, 1.0)),
        lambda: ObjectSpec(mass=0.0),
        lambda: TableSpec(x=-0.5),
    ],
)
def test_impossible_scenes_are_refused(make_invalid):
    with pytest.raises(BadValueError):
        make_invalid()


def test_a_diverging_simulation_is_restored_and_reported_and_the_others_continue():
    scene = SceneSpec(objects=(ObjectSpec(),))
    physics = make_physics(scene, np.array([[[0.1, 0.1, 0.0]]] * 3))
    healthy = physics.objects[0].copy()
    physics._qvel[1, -3:] = 1e9
    failures = physics.step(np.ones((3, 3)) * 0.1, np.ones(3, bool))
    assert set(failures) == {1}
    assert np.isfinite(physics.grip).all()
    assert np.isfinite(physics.objects[[0, 2]]).all()
    np.testing.assert_allclose(physics.objects[0], healthy, atol=1e-3)


def test_pickled_physics_continues_bit_for_bit(rng):
    scenes = [SceneSpec(objects=(ObjectSpec(mass=mass),)) for mass in (1.0, 2.0)]
    physics = Physics(scenes[0], 2, threads=1)
    poses = np.stack([table_poses(scene, np.array([(0.06, 0.0, 0.1)])) for scene in scenes])
    physics.reset(range(2), [compile_scene(scene) for scene in scenes], poses)
    physics.step(np.full((2, 3), 0.2), np.ones(2, bool))
    restored = pickle.loads(pickle.dumps(physics))
    assert [compiled.spec for compiled in restored.scenes] == scenes
    for _ in range(4):
        action = rng.uniform(-1, 1, (2, 3))
        for simulation in (physics, restored):
            assert simulation.step(action, np.ones(2, bool)) == {}
        np.testing.assert_array_equal(restored.states, physics.states)
