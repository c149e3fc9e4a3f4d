"""Chamfer rewards of an agent's particles: those of the arm do not count; by name."""

import numpy as np
import pytest

from found_objects import ARM, COLORS, PARTICLES, by_sum, particles
from jostle.core.errors import BadValueError
from jostle.core.goal_metric import GoalMetric
from jostle.rewards.catalog import (
    IMAGE_REWARDS,
    REWARDS,
    RewardContext,
    image_context,
    make_reward,
)
from jostle.rewards.chamfer import ChamferConfig, chamfer_reward
from jostle.rewards.particle_sets import particle_set

METRIC = GoalMetric(goal_type="position", radius=0.04, scale=0.39)
IMAGES = image_context(PARTICLES, 3, 2, by_sum())
CONTEXT = RewardContext(metric=METRIC, farthest=1.0, images=IMAGES)
RED, GREEN, *_ = COLORS
VARIANTS = {"gdac": "gdac-code", "gdac-paper": "gdac-paper", "chamfer": "plain"}


def scene(place, arm):
    seen = [(RED, place), (GREEN, (0.1, 0.1)), *([(ARM, arm)] if arm else [])]
    entities = particles(seen, seen)
    entities.values[..., :2] = entities.values[..., 5:]  # in the image as on the table
    return entities


@pytest.mark.parametrize("name", VARIANTS)
def test_rewards_of_particles_leave_the_arm_out(name):
    reward = make_reward(name, CONTEXT)
    assert reward.reads == "entities"
    state, goal = scene((0.0, 0.0), (0.05, 0.0)), scene((0.0, 0.05), None)
    expected = chamfer_reward(
        *(particle_set(x, PARTICLES) for x in (scene((0.0, 0.0), None), goal)),
        ChamferConfig(VARIANTS[name]),
    )
    np.testing.assert_allclose(reward.total(state, goal), expected, rtol=1e-6)
    assert reward.total(state, goal) < 0
    assert reward.total(goal, scene((0.0, 0.05), (0.2, 0.2))) == pytest.approx(0, abs=1e-6)
    assert reward.per_object(state, goal) is None
    assert reward.minimum == ChamferConfig(VARIANTS[name]).minimum


def test_the_table_reward_has_the_scale_of_the_true_one_and_ends_at_the_diagonal():
    reward = make_reward("table", CONTEXT)
    assert reward.reads == "objects"
    assert reward.scale == METRIC.scale
    assert reward.minimum == -4


@pytest.mark.parametrize("name", sorted(IMAGE_REWARDS))
def test_rewards_of_images_need_images(name):
    with pytest.raises(BadValueError, match="--obs pixels"):
        make_reward(name, RewardContext(metric=METRIC, farthest=1.0))


def test_a_reward_of_your_own_can_read_objects_if_it_says_so(monkeypatch):
    pytest.importorskip("torch")
    from jostle.api.register import register_reward

    names = set(IMAGE_REWARDS)
    monkeypatch.setattr(REWARDS, "_entries", dict(REWARDS._entries))
    for module in ("jostle.rewards.catalog", "jostle.api.register"):
        monkeypatch.setattr(f"{module}.IMAGE_REWARDS", names)
    register_reward("silent", REWARDS["table"])
    with pytest.raises(BadValueError, match="images=True"):
        make_reward("silent", CONTEXT)
    register_reward("mine", REWARDS["table"], images=True)
    assert make_reward("mine", CONTEXT).reads == "objects"
