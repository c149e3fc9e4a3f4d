"""Reward, success and metrics: laws."""

import numpy as np
import pytest

from jostle.core.measures import METRICS, Measure

POSITION = Measure(kind="position", radius=0.04, scale=0.3905)
YAW = Measure(kind="yaw", radius=0.3, scale=float(np.pi))
PADDED = Measure(kind="position", radius=0.04, scale=0.3905, padded=True)


def angles(values):
    return np.stack((np.sin(values), np.cos(values)), axis=-1).astype(np.float32)


def test_reward_is_zero_exactly_at_the_goal(rng):
    goal = rng.uniform(-0.3, 0.3, (7, 3, 2)).astype(np.float32)
    assert (POSITION.reward(goal, goal) == 0).all()
    assert POSITION.success(goal, goal).all()


def test_reward_falls_by_five_per_meter_of_mean_distance():
    goal = np.zeros((3, 2), np.float32)
    off = goal.copy()
    off[:, 0] = 0.1
    assert POSITION.reward(off, goal) == pytest.approx(-2 * 0.1 / 0.3905, rel=1e-5)


def test_reward_has_the_same_bits_for_any_leading_shape_and_memory_layout(rng):
    a = rng.uniform(-0.4, 0.4, (4, 5, 12, 2)).astype(np.float32)
    b = rng.uniform(-0.4, 0.4, (4, 5, 12, 2)).astype(np.float32)
    whole = POSITION.reward(a, b)
    single = np.array([[POSITION.reward(a[i, j], b[i, j]) for j in range(5)] for i in range(4)])
    turned = POSITION.reward(np.asfortranarray(a), np.asfortranarray(b))
    assert whole.dtype == np.float32
    np.testing.assert_array_equal(whole, single)
    np.testing.assert_array_equal(whole, turned)


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


def test_padding_never_counts(rng):
    a = rng.uniform(-0.3, 0.3, (6, 4, 3)).astype(np.float32)
    b = rng.uniform(-0.3, 0.3, (6, 4, 3)).astype(np.float32)
    for one in (a, b):
        one[..., :2, 2], one[..., 2:, :] = 1, 0
    plain = POSITION.reward(a[:, :2, :2], b[:, :2, :2])
    np.testing.assert_array_equal(PADDED.reward(a, b), plain)
    few = PADDED.metrics(a, b)
    many = POSITION.metrics(a[:, :2, :2], b[:, :2, :2])
    for name, values in many.items():
        np.testing.assert_allclose(few[name], values, rtol=1e-6)


def test_metrics_are_consistent(rng):
    a = rng.uniform(-0.06, 0.06, (50, 3, 2)).astype(np.float32)
    b = rng.uniform(-0.06, 0.06, (50, 3, 2)).astype(np.float32)
    found = POSITION.metrics(a, b)
    assert set(found) == set(METRICS) - {"average_return"}
    np.testing.assert_array_equal(found["success"] == 1, POSITION.success(a, b))
    assert (found["average_distance"] <= found["maximum_distance"] + 1e-7).all()
    assert 0 < found["success"].mean() < 1


def test_torch_and_numpy_agree(rng):
    torch = pytest.importorskip("torch")
    a = rng.uniform(-0.3, 0.3, (8, 3, 2)).astype(np.float32)
    b = rng.uniform(-0.3, 0.3, (8, 3, 2)).astype(np.float32)
    for measure in (POSITION, YAW):
        theirs = measure.reward(torch.from_numpy(a), torch.from_numpy(b))
        np.testing.assert_allclose(theirs.numpy(), measure.reward(a, b), rtol=1e-5)
        metrics = measure.metrics(torch.from_numpy(a), torch.from_numpy(b))
        for name, values in measure.metrics(a, b).items():
            np.testing.assert_allclose(metrics[name].numpy(), values, rtol=1e-4, atol=1e-6)
