"""Pushing is stable: nothing sinks, drifts, tunnels or vanishes."""

import numpy as np
import pytest

from jostle.core.errors import BadValueError
from jostle.scene.build import build
from jostle.scene.furniture import WALLS
from jostle.scene.physics import Physics, table_poses
from jostle.scene.shapes import SHAPES, rest_height
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP, ObjectSpec, SceneSpec, TableSpec


def loaded(scene: SceneSpec, planar: np.ndarray, threads: int = 2) -> Physics:
    """Start one copy per planar arrangement (B, N, 3)."""
    physics = Physics(scene, len(planar), threads)
    poses = np.stack([table_poses(scene, one) for one in planar])
    physics.load(range(len(planar)), [build(scene)] * len(planar), poses)
    return physics


def grid(count: int) -> np.ndarray:
    spots = [(x, y, 0.0) for x in (-0.15, -0.07, 0.07, 0.15) for y in (-0.12, 0.0, 0.12)]
    return np.array(spots[:count])


def test_resting_objects_neither_sink_nor_drift_over_a_thousand_steps():
    scene = SceneSpec(objects=tuple(ObjectSpec(shape=shape) for shape in SHAPES), parts=5)
    planar = grid(9)[[0, 1, 8]]
    physics = loaded(scene, planar[None])
    still = np.array([[0.0, 0.0, 0.0]])
    for _ in range(1000):
        assert physics.act(still, np.ones(1, bool)) == {}
    pose = physics.objects[0]
    rest = np.array([TABLE_TOP + rest_height(one) for one in scene.objects])
    assert np.abs(pose[:, :2] - planar[:, :2]).max() < 1e-3
    assert np.abs(pose[:, 2] - rest).max() < 1e-3
    assert np.abs(pose[:, 4:6]).max() < 1e-2


def test_a_heap_of_twelve_cubes_loses_no_contact():
    scene = SceneSpec(objects=(ObjectSpec(),) * 12)
    physics = loaded(scene, np.stack([grid(12)] * 2))
    # Three layers of two by two: most contacts a dozen cubes can have.
    heap = [(0.036 * i + 0.1, 0.036 * j, k) for k in range(3) for i in range(2) for j in range(2)]
    for slot, (x, y, layer) in enumerate(heap):
        physics.objects[:, slot, :3] = (x, y, TABLE_TOP + CUBE_SIDE * (layer + 0.5))
    for _ in range(60):
        assert physics.act(np.zeros((2, 3)), np.ones(2, bool)) == {}
    height = np.sort(physics.objects[0, :, 2]) - TABLE_TOP
    assert height[0] > CUBE_SIDE / 2 - 1e-3
    assert height[-1] > 2 * CUBE_SIDE, "the heap stands"


def test_hard_shoves_push_no_cube_through_another_or_into_the_table(rng):
    scene = SceneSpec(objects=(ObjectSpec(),) * 6)
    planar = np.array(
        [(0.05 + 0.036 * i, 0.036 * j - 0.018, 0) for i in range(3) for j in range(2)]
    )
    physics = loaded(scene, np.stack([planar] * 8))
    for step in range(40):
        action = np.tile((1.0 if step % 4 < 2 else -1.0, 0.0, -1.0), (8, 1))
        action[:, 1] = rng.uniform(-0.5, 0.5, 8)
        assert physics.act(action, np.ones(8, bool)) == {}
        place = physics.objects[..., :3]
        above = (np.abs(place[..., 0]) < 0.23) & (np.abs(place[..., 1]) < 0.28)
        assert place[..., 2][above].min() > TABLE_TOP + CUBE_SIDE / 2 - 3e-3
        gap = np.linalg.norm(place[:, :, None] - place[:, None], axis=-1)
        gap[:, np.arange(6), np.arange(6)] = 1
        gap[~(above[:, :, None] & above[:, None])] = 1
        assert gap.min() > CUBE_SIDE - 4e-3


def test_the_gripper_pushes_a_cube_and_never_passes_through_it():
    scene = SceneSpec(objects=(ObjectSpec(),))
    physics = loaded(scene, np.array([[[0.06, 0.0, 0.0]]]))
    for _ in range(5):
        physics.act(np.array([[0.4, 0.0, -1.0]]), np.ones(1, bool))
        assert physics.objects[0, 0, 0] > physics.grip[0, 0] + 0.02
    assert physics.objects[0, 0, 0] > 0.2


def test_walls_stop_cubes():
    scene = SceneSpec(objects=(ObjectSpec(),), corridor=True)
    (wall_x, wall_y), (length, _) = WALLS[0]
    physics = loaded(scene, np.array([[[0.08, wall_y, 0.0]]]))
    for _ in range(6):
        way = np.array((0.03, wall_y)) - physics.grip[0, :2]
        physics.act(np.array([[*np.clip(way / 0.125, -1, 1), -1.0]]), np.ones(1, bool))
    for _ in range(3):
        physics.act(np.array([[0.6, 0.0, -1.0]]), np.ones(1, bool))
    assert physics.objects[0, 0, 0] < wall_x - length / 2 - CUBE_SIDE / 2 + 3e-3


def test_what_leaves_the_table_comes_to_rest_on_the_ground_beside_it():
    scene = SceneSpec(objects=(ObjectSpec(),), table=TableSpec(x=0.3, y=0.3))
    physics = loaded(scene, np.array([[[0.13, 0.0, 0.0]]]))
    physics.objects[0, 0, :3] = (0.3, 0.1, TABLE_TOP + 0.02)
    for _ in range(12):
        physics.act(np.zeros((1, 3)), np.ones(1, bool))
    first = physics.objects[0, 0].copy()
    for _ in range(10):
        physics.act(np.zeros((1, 3)), np.ones(1, bool))
    assert first[2] == pytest.approx(CUBE_SIDE / 2, abs=2e-3)
    assert np.abs(physics.objects[0, 0, :3] - first[:3]).max() < 1e-3


def test_parked_slots_change_nothing_for_the_others():
    planar = np.full((1, 4, 3), np.nan)
    planar[0, :2] = ((0.08, 0.0, 0.0), (0.1, 0.1, 0.0))
    here = SceneSpec(objects=(ObjectSpec(),) * 2 + (ObjectSpec(present=False),) * 2)
    alone = SceneSpec(objects=(ObjectSpec(),) * 2)
    many, few = loaded(here, planar), loaded(alone, planar[:, :2])
    for _ in range(4):
        action = np.array([[0.4, 0.1, -1.0]])
        many.act(action, np.ones(1, bool))
        few.act(action, np.ones(1, bool))
    assert few.objects[0, 0, 0] > 0.12
    np.testing.assert_allclose(many.objects[0, :2, :3], few.objects[0, :, :3], atol=1e-3)
    assert (many.objects[0, 2:, 2] == -2.0).all()


def test_a_heavier_cube_is_heavier_and_a_stretched_one_larger():
    plain, heavy, long = (
        build(SceneSpec(objects=(one,))).model
        for one in (ObjectSpec(), ObjectSpec(mass=10), ObjectSpec(scale=(1.5, 1.0)))
    )
    mass = [model.body("object0").mass[0] for model in (plain, heavy, long)]
    assert mass[0] == pytest.approx(0.0429, abs=1e-4)
    assert mass[1] == pytest.approx(10 * mass[0])
    assert mass[2] == pytest.approx(1.5 * mass[0])
    assert long.geom("object0_part0").size[0] == pytest.approx(0.75 * CUBE_SIDE)


def test_the_t_block_weighs_what_it_should_and_its_mass_lies_ahead_of_its_origin():
    model = build(SceneSpec(objects=(ObjectSpec(shape="tee"),), parts=5)).model
    assert model.body("object0").mass[0] == pytest.approx(0.117, abs=1e-3)
    assert model.body("object0").ipos[0] == pytest.approx(0.0138, abs=2e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SceneSpec(objects=(ObjectSpec(),) * 13),
        lambda: SceneSpec(objects=()),
        lambda: ObjectSpec(scale=(-1.0, 1.0)),
        lambda: ObjectSpec(mass=0.0),
        lambda: TableSpec(x=-0.5),
    ],
)
def test_impossible_scenes_are_refused(wrong):
    with pytest.raises(BadValueError):
        wrong()


def test_a_copy_that_blows_up_is_put_back_and_reported_and_the_others_go_on():
    scene = SceneSpec(objects=(ObjectSpec(),))
    physics = loaded(scene, np.array([[[0.1, 0.1, 0.0]]] * 3))
    healthy = physics.objects[0].copy()
    physics._qvel[1, -3:] = 1e9
    broken = physics.act(np.ones((3, 3)) * 0.1, np.ones(3, bool))
    assert set(broken) == {1}
    assert np.isfinite(physics.grip).all()
    assert np.isfinite(physics.objects[[0, 2]]).all()
    np.testing.assert_allclose(physics.objects[0], healthy, atol=1e-3)
