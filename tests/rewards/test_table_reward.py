"""The reward of objects found in images: zero at the goal, one to one, never raised by hiding."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from found_objects import COLORS, PARTICLES, by_sum, particles
from jostle.core.entities import Entities
from jostle.core.errors import BadValueError, NotFiniteError
from jostle.rewards.table import TableReward
from jostle.rollout.object_tracks import ObjectTracker

RED, GREEN, BLUE, _ = COLORS
TRACKER = ObjectTracker(by_sum(), PARTICLES, 1)
REWARD = TableReward(TRACKER.layout, same_color=20.0, scale=0.5, farthest=1.0)


def objects(*seen):
    return TRACKER.objects(particles(list(seen)))


def test_the_goal_itself_has_no_distance_and_others_their_own():
    goal = objects((RED, (0.1, 0.0)), (GREEN, (-0.1, 0.1)))
    assert REWARD.total(goal, goal) == 0
    state = objects((GREEN, (-0.1, 0.1)), (RED, (0.1, 0.3)))
    rewards, present = REWARD.per_object(state, goal)
    np.testing.assert_allclose(rewards[0, :2], [-2 * 0.3 / 0.5, 0], atol=1e-6)
    assert present.sum() == 2
    np.testing.assert_allclose(REWARD.total(state, goal), [-0.6], atol=1e-6)


def test_the_order_of_objects_does_not_matter():
    rng = np.random.default_rng(0)
    goal = objects(*((color, tuple(rng.uniform(-0.2, 0.2, 2))) for color in COLORS))
    state = objects(*((color, tuple(rng.uniform(-0.2, 0.2, 2))) for color in COLORS))
    order = rng.permutation(goal.visible.shape[2])
    shuffled = state.map(lambda array: array[:, :, order])
    np.testing.assert_allclose(REWARD.distances(shuffled, goal), REWARD.distances(state, goal))


def test_two_goals_of_one_color_are_matched_one_to_one():
    goal = objects((RED, (-0.1, 0.0)), (RED, (0.1, 0.0)))
    state = objects((RED, (0.1, 0.02)), (RED, (0.1, 0.1)))  # both nearer to the second goal
    np.testing.assert_allclose(
        REWARD.distances(state, goal)[0, :2], [np.hypot(0.2, 0.1), 0.02], atol=1e-6
    )


def test_an_object_that_was_never_seen_has_the_least_reward():
    goal = objects((RED, (0.1, 0.0)))
    assert REWARD.per_object(objects((BLUE, (0.1, 0.0))), goal)[0][0, 0] == REWARD.minimum == -4
    assert REWARD.total(objects(), goal) == REWARD.minimum
    assert REWARD.total(goal, objects()) == REWARD.minimum
    assert not REWARD.reached(goal, objects(), 0.04).any()


@pytest.mark.parametrize("place", [(0.3, 0.0), (0.05, 0.02)])
def test_hiding_an_object_or_pushing_it_off_the_table_never_raises_the_reward(place):
    follow = ObjectTracker(by_sum(), PARTICLES, 1)
    goal = follow.objects(particles([(RED, (0.0, 0.0)), (GREEN, (-0.2, 0.0))]))
    seen = follow.track(particles([(RED, place), (GREEN, (-0.2, 0.1))]))
    gone = follow.track(particles([(GREEN, (-0.2, 0.1))]))
    assert REWARD.total(gone, goal) <= REWARD.total(seen, goal)


def test_success_by_images_needs_every_goal_object_within_the_radius():
    goal = objects((RED, (0.1, 0.0)), (GREEN, (-0.1, 0.0)))
    near = objects((RED, (0.12, 0.0)), (GREEN, (-0.1, 0.03)))
    far = objects((RED, (0.12, 0.0)), (GREEN, (-0.1, 0.05)))
    assert REWARD.reached(near, goal, 0.04).all()
    assert not REWARD.reached(far, goal, 0.04).any()


def test_nan_never_becomes_a_reward_and_impossible_scales_are_refused():
    goal = objects((RED, (0.1, 0.0)))
    broken = Entities(np.where(goal.visible[..., None], np.nan, goal.values), goal.visible)
    with pytest.raises(NotFiniteError, match="encoder"):
        REWARD.total(broken, goal)
    for name in ("same_color", "scale", "farthest"):
        with pytest.raises(BadValueError, match=name):
            replace(REWARD, **{name: 0.0})
