"""A reward per object: its mean is the reward of the whole set, step by step."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numbered_episodes import REWARD, buffer_of, make_sampler  # noqa: E402

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.rewards.distance import DistanceReward  # noqa: E402


@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("strategy", ["future", "per-object"])
def test_the_mean_over_objects_is_the_reward_of_the_set(n_step, strategy):
    buffer, options = buffer_of(8), {"n_step": n_step, "strategy": strategy}
    whole = make_sampler(buffer, potential_baseline=True, **options).sample(64)
    each = make_sampler(buffer, potential_baseline=True, per_object=True, **options).sample(64)
    assert each.reward.shape == each.present.shape == (64, 2)
    assert each.present.all()
    assert whole.present is None
    torch.testing.assert_close(each.reward.mean(1), whole.reward)
    torch.testing.assert_close(each.discount, whole.discount)
    for mine, theirs in zip(each.potential, whole.potential, strict=True):
        torch.testing.assert_close(mine.mean(1), theirs)


def test_every_object_is_judged_by_its_own_goal():
    batch = make_sampler(buffer_of(8), per_object=True, her_ratio=0.0).sample(64)
    goals = batch.actor.goal.values[:, 0, :, :2]
    later = batch.actor.next_state.values[:, 0, 1:, :2]
    distances = (later - goals).norm(dim=-1)
    torch.testing.assert_close(batch.reward, distances * (-2 / REWARD.metric.scale))


def test_a_shared_reward_is_the_mean_for_every_object():
    options = {"per_object": True, "potential_baseline": True}
    own = make_sampler(buffer_of(8), **options).sample(64)
    shared = make_sampler(buffer_of(8), shared=True, **options).sample(64)
    for mine, mean in ((own.reward, shared.reward), (own.potential.now, shared.potential.now)):
        torch.testing.assert_close(mean, mine.mean(1, keepdim=True).expand_as(mine))
    assert shared.present.all()


class OneNumber(DistanceReward):
    def per_object(self, achieved, desired):
        return None


def test_a_reward_of_one_number_is_refused():
    reward = OneNumber(REWARD.metric, 1.0)
    sampler = make_sampler(buffer_of(4), per_object=True, reward=reward)
    with pytest.raises(BadValueError, match="reward per object"):
        sampler.sample(4)


def test_fallen_objects_stay_above_the_least_reward():
    """The corner of the observed space is the farthest that an object can be from a goal."""
    farthest = np.array([[[0.3, 0.3]]], np.float32)
    reward = DistanceReward(REWARD.metric, float(np.hypot(0.6, 0.6)))
    values, _ = reward.per_object(farthest, -farthest)
    assert values.item() == pytest.approx(reward.minimum)
