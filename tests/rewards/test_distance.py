"""The distance reward: one definition for environments, replay and networks."""

import numpy as np
import pytest

from jostle.core.errors import BadValueError, UnknownNameError
from jostle.core.goal_metric import GoalMetric
from jostle.rewards.catalog import REWARDS, RewardContext, make_reward
from jostle.rewards.distance import DistanceReward

GOAL_TYPES = pytest.mark.parametrize("goal_type", ["position", "yaw"])
PADDED = pytest.mark.parametrize("padded", [False, True], ids=["", "padded"])
TASKS = pytest.mark.parametrize(
    ("task", "options"),
    [
        ("ThreeCubes", {}),
        ("NCubes", {"objects": (1, 3)}),
        ("PushT", {"objects": 2}),
        ("SmallTable", {}),
    ],
)


def make(goal_type: str, padded: bool = False) -> DistanceReward:
    metric = GoalMetric(goal_type=goal_type, radius=0.04, scale=0.39, padded=padded)
    return DistanceReward(metric, farthest=3.2)


def random_goals(reward: DistanceReward, rng: np.random.Generator, shape=(50, 4)) -> np.ndarray:
    """Coordinates (..., N, w); if padded, at least the first object is present."""
    if reward.metric.goal_type == "position":
        goals = rng.uniform(-0.5, 0.5, (*shape, 2))
    else:
        angles = rng.uniform(-np.pi, np.pi, shape)
        goals = np.stack((np.sin(angles), np.cos(angles)), axis=-1)
    if reward.metric.padded:
        goals = np.concatenate((goals, np.ones((*shape, 1))), axis=-1)
    return goals.astype(np.float32)


def random_pair(reward: DistanceReward, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """What was achieved and what is desired; the same objects are absent in both."""
    achieved, desired = random_goals(reward, rng), random_goals(reward, rng)
    if reward.metric.padded:
        absent = rng.random(achieved.shape[:2]) < 0.4
        absent[:, 0] = False
        achieved[absent] = desired[absent] = 0.0
    return achieved, desired


@GOAL_TYPES
@PADDED
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_total_is_the_mean_over_the_objects_that_count(goal_type, padded, library, rng):
    reward = make(goal_type, padded)
    achieved, desired = random_pair(reward, rng)
    if library == "torch":
        torch = pytest.importorskip("torch")
        achieved, desired = torch.from_numpy(achieved), torch.from_numpy(desired)
    each, counts = (np.asarray(array) for array in reward.per_object(achieved, desired))
    total = np.asarray(reward.total(achieved, desired))
    assert each.shape == counts.shape == (50, 4)
    assert counts.dtype == bool
    assert counts.all() != padded
    assert (each[~counts] == 0).all()
    mean = (each * counts).sum(-1) / counts.sum(-1)
    np.testing.assert_allclose(total, mean, rtol=1e-5, atol=1e-6)


@GOAL_TYPES
@PADDED
def test_numpy_and_torch_agree(goal_type, padded, rng):
    torch = pytest.importorskip("torch")
    reward = make(goal_type, padded)
    pair = random_pair(reward, rng)
    tensors = tuple(torch.from_numpy(array) for array in pair)
    total = reward.total(*tensors)
    assert total.dtype == torch.float32
    np.testing.assert_allclose(total.numpy(), reward.total(*pair), rtol=1e-5, atol=1e-6)
    for tensor, array in zip(reward.per_object(*tensors), reward.per_object(*pair), strict=True):
        np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-5, atol=1e-6)


@GOAL_TYPES
@PADDED
def test_objects_at_their_goals_cost_nothing_and_others_do(goal_type, padded, rng):
    reward = make(goal_type, padded)
    achieved, desired = random_pair(reward, rng)
    np.testing.assert_allclose(reward.total(desired, desired), 0, atol=1e-6)
    assert (reward.total(achieved, desired) < 0).all()


@TASKS
def test_the_reward_is_that_of_the_environment_bit_for_bit(task, options, make_env, rng):
    env = make_env(6, task, autoreset_mode="Disabled", **options)
    context = RewardContext(metric=env.goal_metric, farthest=env.state_reader.farthest)
    reward = make_reward("true", context)
    env.reset(seed=0)
    for _ in range(5):
        observation, rewards, *_ = env.step(rng.uniform(-1, 1, (6, 3)).astype(np.float32))
        total = reward.total(observation["achieved_goal"], observation["desired_goal"])
        assert total.dtype == rewards.dtype == np.float32
        np.testing.assert_array_equal(total, rewards)
        assert (rewards < 0).all()


def random_observed(env, rng: np.random.Generator, count: int) -> np.ndarray:
    """Coordinates (count, N, w) within the observation bounds."""
    space = env.single_observation_space["achieved_goal"]
    if env.goal_metric.goal_type == "yaw":
        return random_goals(env.reward, rng, (count, space.shape[0]))
    goals = rng.uniform(space.low, space.high, (count, *space.shape)).astype(np.float32)
    if env.goal_metric.padded:
        goals[..., 2] = 1.0
    return goals


@TASKS
def test_no_object_gets_less_than_the_minimum(task, options, make_env, rng):
    env = make_env(1, task, autoreset_mode="Disabled", **options)
    reward = env.reward
    achieved, desired = random_observed(env, rng, 3000), random_observed(env, rng, 3000)
    each, _ = reward.per_object(achieved, desired)
    assert (each >= reward.minimum).all()
    assert (reward.total(achieved, desired) >= reward.minimum).all()


@TASKS
def test_opposite_ends_of_what_can_be_observed_get_the_minimum(task, options, make_env):
    env = make_env(1, task, autoreset_mode="Disabled", **options)
    space = env.single_observation_space["achieved_goal"]
    low, high = space.low.copy(), space.high.copy()
    if env.goal_metric.goal_type == "yaw":
        low[:], high[:] = (0.0, -1.0), (0.0, 1.0)
    if env.goal_metric.padded:
        low[:, 2] = 1.0
    assert env.reward.total(low, high) == pytest.approx(env.reward.minimum, rel=1e-5)


def test_rewards_are_found_by_name():
    context = RewardContext(metric=make("position").metric, farthest=1.0)
    assert make_reward("true", context) == DistanceReward(context.metric, 1.0)
    with pytest.raises(UnknownNameError, match=r"no reward called 'truth'\. Did you mean 'true'"):
        make_reward("truth", context)
    with pytest.raises(BadValueError, match="called 'true' already"):
        REWARDS.register("true", DistanceReward)
