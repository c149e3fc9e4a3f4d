"""What an encoder made of the objects, on staged particles: found, hidden, merged, swapped."""

import numpy as np
import pytest

from jostle.core.entities import FEATURES, POSITION, Entities, EntityLayout
from jostle.envs.options import EnvOptions
from jostle.evaluation.tracing import EntityReader
from jostle.scene.cameras import CAMERAS, project
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP

SIDE = 64
VIEWS = ("front", "side")
LAYOUT = EntityLayout(((POSITION, 2), (FEATURES, 3)))
OBJECTS = np.array([(0.1, 0.1), (-0.1, 0.1), (0.1, -0.1)])
GOALS = OBJECTS[::-1] * 0.5
LOOKS = np.eye(3)


def entities(xy: np.ndarray, looks: np.ndarray = LOOKS, cameras=CAMERAS) -> Entities:
    """Particles exactly where cubes at `xy` are, with these features."""
    points = np.concatenate((xy, np.full((len(xy), 1), TABLE_TOP + CUBE_SIDE / 2)), -1)
    views = []
    for name in VIEWS:
        pixels = project(cameras[name], points, (SIDE, SIDE))  # column, row
        position = ((pixels - 0.5) / (SIDE - 1) * 2 - 1)[:, ::-1]  # vertical first
        views.append(np.concatenate((position, looks), axis=-1))
    values = np.stack(views)[None].astype(np.float32)  # (1, V, K, D)
    return Entities(values, np.ones(values.shape[:3], bool))


def hide(seen: Entities, index: int, views=(0, 1)) -> Entities:
    visible = seen.visible.copy()
    visible[:, list(views), index] = False
    return Entities(seen.values, visible)


@pytest.fixture
def reader():
    sampler = EnvOptions().episode_sampler("ThreeCubes", {})
    made = EntityReader([sampler.sample(np.random.default_rng(0))], VIEWS, LAYOUT, SIDE)
    read(made, entities(OBJECTS))
    return made


def read(reader, state, xy=OBJECTS, goal=None):
    objects = np.concatenate((xy, np.full((len(xy), 1), CUBE_SIDE / 2)), -1)[None]
    detected, confused = reader.read(state, goal or entities(GOALS), objects, GOALS[None])
    return detected[0].tolist(), confused[0].tolist()


def test_particles_at_their_objects_are_found_and_not_confused(reader):
    assert read(reader, entities(OBJECTS)) == ([True] * 3, [False] * 3)
    moved = OBJECTS + np.array((0.03, -0.02))
    assert read(reader, entities(moved), moved) == ([True] * 3, [False] * 3)
    assert not reader.goal_confused.any()


def test_an_object_is_hidden_when_no_view_has_a_particle_at_it(reader):
    assert read(reader, hide(entities(OBJECTS), 1))[0] == [True, False, True]
    assert read(reader, hide(entities(OBJECTS), 1, views=(0,)))[0] == [True] * 3
    away = OBJECTS.copy()
    away[1] += 0.08
    assert read(reader, entities(away))[0] == [True, False, True]


def test_two_objects_with_one_particle_are_merged(reader):
    together = OBJECTS.copy()
    together[1] = together[0] + np.array((0.0, 0.03))
    particles = together.copy()
    particles[:2] = together[:2].mean(0)
    assert read(reader, hide(entities(particles), 1), together)[1] == [True, True, False]


def test_a_particle_that_looks_like_another_object_is_swapped(reader):
    assert read(reader, entities(OBJECTS, LOOKS[[1, 0, 2]]))[1] == [True, True, False]
    one_view = entities(OBJECTS, LOOKS[[1, 0, 2]])
    one_view.values[:, 0] = entities(OBJECTS).values[:, 0]
    assert read(reader, one_view)[1] == [False] * 3  # the other view distinguishes them


def test_goals_that_look_like_another_object_are_confused():
    sampler = EnvOptions().episode_sampler("ThreeCubes", {})
    fresh = EntityReader([sampler.sample(np.random.default_rng(0))], VIEWS, LAYOUT, SIDE)
    read(fresh, entities(OBJECTS), goal=entities(GOALS, LOOKS[[0, 2, 1]]))
    assert fresh.goal_confused[0].tolist() == [False, True, True]


def test_moved_cameras_are_read_where_they_stand():
    options = EnvOptions(variation="camera.front.x=+0.2 camera.side.y=-0.2")
    sampler = options.episode_sampler("ThreeCubes", {})
    episode = sampler.sample(np.random.default_rng(0))
    cameras = {camera.name: camera for camera in episode.appearance.cameras}
    fresh = EntityReader([episode], VIEWS, LAYOUT, SIDE)
    assert read(fresh, entities(OBJECTS, cameras=cameras))[0] == [True] * 3
