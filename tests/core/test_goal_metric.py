"""Properties of reward, success and metrics."""

import numpy as np
import pytest

from jostle.core.goal_metric import METRICS, GoalMetric
from jostle.rewards.distance import DistanceReward

POSITION = GoalMetric(goal_type="position", radius=0.04, scale=0.3905)
YAW = GoalMetric(goal_type="yaw", radius=0.3, scale=float(np.pi))
PADDED = GoalMetric(goal_type="position", radius=0.04, scale=0.3905, padded=True)


def reward(metric, achieved, desired):
    return DistanceReward(metric, 1.0).total(achieved, desired)


def angles(values):
    return np.stack((np.sin(values), np.cos(values)), axis=-1).astype(np.float32)


def test_reward_is_zero_exactly_at_the_goal(rng):
    goal = rng.uniform(-0.3, 0.3, (7, 3, 2)).astype(np.float32)
    assert (reward(POSITION, goal, goal) == 0).all()
    assert POSITION.success(goal, goal).all()


def test_reward_falls_by_five_per_meter_of_mean_distance():
    goal = np.zeros((3, 2), np.float32)
    achieved = goal.copy()
    achieved[:, 0] = 0.1
    assert reward(POSITION, achieved, goal) == pytest.approx(-2 * 0.1 / 0.3905, rel=1e-5)


def test_reward_has_the_same_bits_for_any_leading_shape_and_memory_layout(rng):
    a = rng.uniform(-0.4, 0.4, (4, 5, 12, 2)).astype(np.float32)
    b = rng.uniform(-0.4, 0.4, (4, 5, 12, 2)).astype(np.float32)
    whole = reward(POSITION, a, b)
    single = np.array([[reward(POSITION, a[i, j], b[i, j]) for j in range(5)] for i in range(4)])
    fortran = reward(POSITION, np.asfortranarray(a), np.asfortranarray(b))
    assert whole.dtype == np.float32
    np.testing.assert_array_equal(whole, single)
    np.testing.assert_array_equal(whole, fortran)


def test_success_is_strict_at_the_radius():
    goal = np.zeros((1, 2))
    at = np.array([[0.04, 0.0]])
    assert not POSITION.success(at, goal)
    assert POSITION.success(at * 0.999, goal)


@pytest.mark.parametrize("turn", [0.1, 1.0, 3.0, np.pi])
def test_yaw_distance_wraps(turn):
    start = np.linspace(-np.pi, np.pi, 9)
    gap = YAW.distances(angles(start + turn), angles(start))
    np.testing.assert_allclose(gap, turn, atol=1e-5)


def test_padding_does_not_count(rng):
    a = rng.uniform(-0.3, 0.3, (6, 4, 3)).astype(np.float32)
    b = rng.uniform(-0.3, 0.3, (6, 4, 3)).astype(np.float32)
    for goals in (a, b):
        goals[..., :2, 2], goals[..., 2:, :] = 1, 0
    expected = reward(POSITION, a[:, :2, :2], b[:, :2, :2])
    np.testing.assert_array_equal(reward(PADDED, a, b), expected)
    padded = PADDED.metrics(a, b)
    unpadded = POSITION.metrics(a[:, :2, :2], b[:, :2, :2])
    for name, values in unpadded.items():
        np.testing.assert_allclose(padded[name], values, rtol=1e-6)


def test_metrics_are_consistent(rng):
    a = rng.uniform(-0.06, 0.06, (50, 3, 2)).astype(np.float32)
    b = rng.uniform(-0.06, 0.06, (50, 3, 2)).astype(np.float32)
    metrics = POSITION.metrics(a, b)
    assert set(metrics) == set(METRICS) - {"average_return"}
    np.testing.assert_array_equal(metrics["success"] == 1, POSITION.success(a, b))
    assert (metrics["average_distance"] <= metrics["maximum_distance"] + 1e-7).all()
    assert 0 < metrics["success"].mean() < 1


def test_torch_and_numpy_agree(rng):
    torch = pytest.importorskip("torch")
    a = rng.uniform(-0.3, 0.3, (8, 3, 2)).astype(np.float32)
    b = rng.uniform(-0.3, 0.3, (8, 3, 2)).astype(np.float32)
    for metric in (POSITION, YAW):
        rewards = reward(metric, torch.from_numpy(a), torch.from_numpy(b))
        np.testing.assert_allclose(rewards.numpy(), reward(metric, a, b), rtol=1e-5)
        metrics = metric.metrics(torch.from_numpy(a), torch.from_numpy(b))
        for name, values in metric.metrics(a, b).items():
            np.testing.assert_allclose(metrics[name].numpy(), values, rtol=1e-4, atol=1e-6)
