"""Particles are tied to the nearest true object within four pixels, for rewards alone."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.base import PixelSensor  # noqa: E402
from jostle.core.entities import FEATURES, POSITION, Entities, EntityLayout  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.rollout.collector import Collector, ObjectFinders  # noqa: E402
from jostle.rollout.object_ties import TIE_PX, ObjectTies  # noqa: E402
from jostle.rollout.pixel_observer import PixelObserver  # noqa: E402
from jostle.scene.cameras import CAMERAS, project  # noqa: E402
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP  # noqa: E402
from jostle.training.images import object_ties  # noqa: E402
from jostle.zoo.encoders import load_encoder  # noqa: E402

LAYOUT, SIDE = EntityLayout(((POSITION, 2), (FEATURES, 1))), 128
NAMES = "front", "side"
TIES = ObjectTies([CAMERAS[name] for name in NAMES], SIDE, LAYOUT)
PLACES = np.array([[[0.1, 0.1, 1.0], [-0.1, 0.05, 1.0], [0.0, -0.2, 1.0]]])


def at_pixels(pixels: np.ndarray) -> Entities:
    """Particles at pixels (B, V, K, 2) = (column, row)."""
    values = np.zeros((*pixels.shape[:3], 3), np.float32)
    values[..., :2] = 2 * (pixels[..., ::-1] - 0.5) / (SIDE - 1) - 1
    return Entities(values, np.ones(values.shape[:-1], bool))


def centers() -> np.ndarray:
    """Pixels of the places, (1, V, N, 2)."""
    return np.stack([project(CAMERAS[name], PLACES, (SIDE, SIDE)) for name in NAMES], axis=1)


def test_particles_are_tied_to_the_nearest_place_within_four_pixels():
    order = np.array([2, 0, 1])
    near = centers()[:, :, order] + (0.6 * TIE_PX, 0.6 * TIE_PX)
    far = centers()[:, :, order] + (0.8 * TIE_PX, 0.8 * TIE_PX)
    for view in range(2):
        assert TIES.tie(at_pixels(near), PLACES)[0, view].tolist() == [2, 0, 1]
    assert (TIES.tie(at_pixels(far), PLACES) == -1).all()


def test_hidden_particles_absent_objects_and_missing_cameras_are_not_tied():
    particles = at_pixels(centers())
    hidden = Entities(particles.values, np.zeros_like(particles.visible))
    assert (TIES.tie(hidden, PLACES) == -1).all()
    absent = PLACES.copy()
    absent[:, 1] = np.nan
    assert TIES.tie(particles, absent)[0].tolist() == [[0, -1, 2]] * 2
    front = ObjectTies([CAMERAS["front"], None], SIDE, LAYOUT)
    assert front.tie(particles, PLACES)[0].tolist() == [[0, 1, 2], [-1, -1, -1]]


def test_goal_particles_of_cubes_are_tied_and_collected_with_every_image_that_may_be_a_goal(
    make_env,
):
    """Each object is known by its color, so ties can be checked by the particles' looks."""
    env = make_env(
        4, "NCubes", objects=(1, 3), obs_type="both", autoreset_mode="Disabled", threads=1
    )
    env.reset(seed=0)
    sensor = PixelSensor(load_encoder("dlp-6cubes"), NAMES)
    observer, ties = PixelObserver(sensor.encoder, NAMES), object_ties(env, sensor)
    idle = np.zeros((4, 3), np.float32)
    for every, images in ((0, 5), (2, 2)):
        collector = Collector(env, observer, 4, None, every, finders=ObjectFinders(ties=ties))
        episodes, _ = collector.collect(lambda *seen: idle)
        assert episodes.hindsight_ties.shape == (4, images, 2, 24)
        assert episodes.goal_ties.dtype == episodes.hindsight_ties.dtype == np.int8
        for row, episode in enumerate(env.episodes):
            count = sum(spec.present for spec in episode.scene.objects[:3])
            for view in range(2):
                assert set(episodes.goal_ties[row, view]) == {-1, *range(count)}
        visible = episodes.actor.goal.visible
        assert (episodes.goal_ties[~visible] == -1).all()


def test_states_are_tied_by_where_objects_truly_are(make_env):
    env = make_env(2, "TwoCubes", autoreset_mode="Disabled", threads=1)
    observation, _ = env.reset(seed=1)
    places = np.concatenate(
        (observation["achieved_goal"], np.full((2, 2, 1), TABLE_TOP + CUBE_SIDE / 2)), axis=-1
    )
    pixels = np.stack([project(CAMERAS[name], places, (SIDE, SIDE)) for name in NAMES], axis=1)
    tied = TIES.state(at_pixels(pixels), env, observation["observation"])
    assert tied.tolist() == [[[0, 1]] * 2] * 2


def test_entities_without_a_position_and_headings_are_refused(make_env):
    with pytest.raises(BadValueError, match="--values pooled"):
        ObjectTies([], SIDE, EntityLayout(((FEATURES, 4),)))
    env = make_env(1, "PushT", autoreset_mode="Disabled")
    with pytest.raises(BadValueError, match="does not show its heading"):
        object_ties(env, PixelSensor(load_encoder("dlp-6cubes"), NAMES))
