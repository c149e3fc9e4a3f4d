"""Objects found in particles of all views: grouped, followed, remembered; only the past is read."""

import numpy as np
import pytest

pytest.importorskip("torch")

from found_objects import ARM, COLORS, PARTICLES, by_sum, particles
from jostle.core.entities import POSITION, Entities
from jostle.core.errors import BadValueError
from jostle.core.found_objects import SEEN
from jostle.rollout.object_tracks import ObjectTracker
from jostle.scene.spec import CUBE_SIDE

RED, GREEN, BLUE, YELLOW = COLORS


def tracker(views=2):
    return ObjectTracker(by_sum(), PARTICLES, views)


def places(objects, layout):
    """Places of the objects of the first scene."""
    return objects.values[0, 0][objects.visible[0, 0]][:, layout[POSITION]]


def test_particles_of_both_views_at_one_place_are_one_object_and_the_arm_is_none():
    follow = tracker()
    front = [(RED, (0.1, 0.0)), (GREEN, (-0.1, 0.0)), (ARM, (0.0, 0.2))]
    side = [(RED, (0.104, 0.002)), (ARM, (0.05, 0.1))]
    objects = follow.objects(particles(front, side))
    np.testing.assert_allclose(
        places(objects, follow.layout), [[0.102, 0.001], [-0.1, 0]], atol=1e-6
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_particles_does_not_matter(seed):
    follow, rng = tracker(), np.random.default_rng(seed)
    front = [(color, (0.1 * i, 0.05)) for i, color in enumerate(COLORS)]
    scene = particles(front, front[:2])
    order = rng.permutation(scene.visible.shape[2])
    shuffled = scene.map(lambda array: array[:, :, order])
    first, second = (
        sorted(map(tuple, places(follow.objects(x), follow.layout).tolist()))
        for x in (scene, shuffled)
    )
    np.testing.assert_allclose(first, second)


def test_a_hidden_object_stays_where_it_was_seen_last_and_is_marked():
    follow = tracker()
    follow.track(particles([(RED, (0.1, 0.0)), (BLUE, (0.0, 0.1))], []))
    follow.track(particles([(RED, (0.12, 0.0)), (BLUE, (0.0, 0.1))], []))
    hidden = follow.track(particles([(BLUE, (0.0, 0.1))], []))
    np.testing.assert_allclose(places(hidden, follow.layout), [[0.12, 0], [0, 0.1]], atol=1e-6)
    np.testing.assert_array_equal(hidden.values[0, 0, :2, follow.layout[SEEN]].ravel(), [0, 1])
    back = follow.track(particles([], [(RED, (0.2, 0.0))]))
    np.testing.assert_allclose(places(back, follow.layout)[0], [0.2, 0], atol=1e-6)


def test_two_objects_of_one_color_keep_their_rows_by_place():
    follow = tracker(1)
    follow.track(particles([(RED, (-0.1, 0.0)), (RED, (0.1, 0.0))]))
    moved = follow.track(particles([(RED, (0.08, 0.0)), (RED, (-0.12, 0.0))]))
    np.testing.assert_allclose(places(moved, follow.layout), [[-0.12, 0], [0.08, 0]], atol=1e-6)


def test_an_object_that_looks_different_when_half_hidden_is_not_a_new_one():
    follow, dirty = tracker(), np.array([3.0, 1, 1], np.float32)
    follow.track(particles([(RED, (0.1, 0.0))], [(RED, (0.1, 0.0))]))
    half = follow.track(particles([(dirty, (0.11, 0.0))], []))
    assert half.visible.sum() == 1
    np.testing.assert_allclose(places(half, follow.layout), [[0.11, 0]], atol=1e-6)


def test_cubes_that_touch_are_two_objects():
    follow = tracker()
    touching = [(RED, (0.1, 0.0)), (GREEN, (0.1, CUBE_SIDE))]
    assert follow.objects(particles(touching, touching)).visible.sum() == 2


def test_later_steps_change_nothing_of_earlier_ones():
    rng = np.random.default_rng(0)
    scenes = [
        particles([(color, tuple(rng.uniform(-0.2, 0.2, 2))) for color in COLORS[:3]], [])
        for _ in range(5)
    ]
    whole, part = tracker(), tracker()
    full = [whole.track(scene) for scene in scenes]
    for expected, scene in zip(full, scenes[:3], strict=False):
        result = part.track(scene)
        np.testing.assert_array_equal(result.values, expected.values)
    whole.reset()
    np.testing.assert_array_equal(whole.track(scenes[0]).values, full[0].values)


def test_environments_are_followed_apart_and_empty_images_have_no_objects():
    follow = tracker(1)
    left, right = particles([(RED, (0.1, 0.0))]), particles([])
    both = Entities.cat([left, right])
    np.testing.assert_array_equal(follow.track(both).visible.sum((1, 2)), [1, 0])


def test_particles_without_a_place_on_the_table_are_refused():
    with pytest.raises(BadValueError, match="--table-xy"):
        ObjectTracker(by_sum(), PARTICLES.without("table_xy"), 2)


def test_every_particle_of_an_object_is_tied_to_its_row_and_those_of_the_arm_to_none():
    red, green = (RED, (0.1, 0.0)), (GREEN, (-0.1, 0.0))
    seen = particles([red, (ARM, (0.1, 0.0)), green], [green, (RED, (0.11, 0.0)), red])
    follow = tracker()
    objects = follow.track(seen)
    ties = follow.ties(seen, objects)[0]
    rows = {tuple(np.round(objects.values[0, 0, row, :1], 1)): row for row in range(2)}
    one, other = rows[(np.float32(0.1),)], rows[(np.float32(-0.1),)]
    assert ties[:, :3].tolist() == [[one, -1, other], [other, one, one]]
    assert (ties[:, 3:] == -1).all()  # padding


def test_particles_are_not_tied_to_what_is_only_remembered_nor_to_other_colors():
    follow = tracker()
    follow.track(particles([(RED, (0.1, 0.0))], []))
    other = particles([(GREEN, (0.1, 0.0))], [])
    assert (follow.ties(other, follow.track(particles([], []))) == -1).all()
    found = tracker().objects(particles([(RED, (0.1, 0.0))], []))
    assert (follow.ties(other, found) == -1).all()
    assert (follow.ties(particles([(RED, (0.2, 0.0))], []), found) == -1).all()


def test_touching_cubes_are_two_though_each_view_shows_them_closer_and_in_other_colors():
    """One view does not show an object in two places."""
    dirty = np.array([1.0, 3, 1], np.float32)
    front = [(GREEN, (0.1, 0.8 * CUBE_SIDE))]
    side = [(RED, (0.1, 0.0)), (dirty, (0.1, 0.9 * CUBE_SIDE))]
    follow = tracker()
    objects = follow.objects(particles(front, side))
    expected = [[0.1, 0.8 * CUBE_SIDE], [0.1, 0]]
    np.testing.assert_allclose(places(objects, follow.layout), expected, atol=1e-6)
    followed = tracker()
    followed.track(particles(front, side))
    assert followed.track(particles(front, side)).visible.sum() == 2
