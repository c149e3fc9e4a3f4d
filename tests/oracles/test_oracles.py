"""The scripted experts solve their tasks, are pure functions, and plan around obstacles."""

import numpy as np
import pytest

from jostle.evaluation.compare import Comparison, compare
from jostle.evaluation.evaluate import evaluate
from jostle.evaluation.statistics import wilson_interval
from jostle.oracles.catalog import SCRIPTED, oracle
from jostle.oracles.planner import BLOCKED, shortest_paths
from jostle.oracles.policy import RandomPolicy

LOW, HIGH = np.array((-1.0, -1.0)), np.array((1.0, 1.0))

MIN_SUCCESS = {
    "OneCube": 0.9, "TwoCubes": 0.9, "ThreeCubes": 0.85, "AdjacentGoals": 0.75,
    "SmallTable": 0.65, "OrderedPush": 0.75, "PushT": 0.7,
}  # fmt: skip


@pytest.mark.parametrize("name", MIN_SUCCESS)
def test_the_oracle_solves_its_task(name, make_env):
    env = make_env(40, name, autoreset_mode="Disabled")
    evaluation = evaluate(env, oracle(env.episode_sampler.task), "oracle", 40)
    assert evaluation.mean("success") >= MIN_SUCCESS[name]


def test_the_random_policy_does_not_solve_a_task(make_env):
    env = make_env(40, "ThreeCubes", autoreset_mode="Disabled")
    assert evaluate(env, RandomPolicy(), "random", 40).mean("success") < 0.1


@pytest.mark.parametrize("name", [*MIN_SUCCESS, "Sorting", "Distractors"])
def test_oracles_are_pure_functions_of_each_environments_observation(name, make_env):
    env = make_env(4, name, autoreset_mode="Disabled")
    script = oracle(env.episode_sampler.task)
    observation, _ = env.reset(seed=0)
    for _ in range(8):
        actions = script.act(observation)
        assert actions.shape == (4, 3)
        assert actions.dtype == np.float32
        assert (np.abs(actions) <= 1).all()
        reversed_actions = script.act({key: values[::-1] for key, values in observation.items()})
        np.testing.assert_allclose(reversed_actions[::-1], actions, atol=1e-6)
        observation, *_ = env.step(actions)


def test_oracles_handle_absent_objects(make_env):
    env = make_env(24, "NCubes", objects=(1, 3), autoreset_mode="Disabled")
    assert evaluate(env, oracle(env.episode_sampler.task), "oracle", 24).mean("success") > 0.8


def test_a_free_path_is_straight():
    start, goal = np.array([[0.0, 0.0]]), np.array([[0.5, 0.2]])
    none = np.full((1, 1, 2), np.nan)
    paths = shortest_paths(start, goal, none, np.full((1, 1, 2), 0.1), LOW, HIGH)
    np.testing.assert_array_equal(paths.first, goal)
    assert paths.length[0] == pytest.approx(np.hypot(0.5, 0.2))


def test_a_path_around_a_box_is_the_shorter_of_the_two():
    start, goal = np.array([[-0.5, 0.02]]), np.array([[0.5, 0.02]])
    box, half = np.zeros((1, 1, 2)), np.full((1, 1, 2), 0.1)
    paths = shortest_paths(start, goal, box, half, LOW, HIGH)
    assert paths.first[0, 1] > 0.1, "over the top, since the path starts above the middle"
    assert 1.0 < paths.length[0] < 1.1


def test_walls_without_a_gap_leave_no_path():
    wall, half = np.zeros((1, 1, 2)), np.array([[[0.1, 2.0]]])
    paths = shortest_paths(np.array([[-0.5, 0.0]]), np.array([[0.5, 0.0]]), wall, half, LOW, HIGH)
    assert paths.length[0] >= BLOCKED


def test_a_path_is_never_shorter_than_the_straight_line(rng):
    start, goal = rng.uniform(-1, 1, (50, 2)), rng.uniform(-1, 1, (50, 2))
    boxes, halves = rng.uniform(-0.8, 0.8, (50, 4, 2)), rng.uniform(0.05, 0.2, (50, 4, 2))
    paths = shortest_paths(start, goal, boxes, halves, LOW, HIGH)
    assert (paths.length >= np.linalg.norm(goal - start, axis=-1) - 1e-9).all()


def test_comparisons_are_paired(make_env):
    env = make_env(20, "OneCube", autoreset_mode="Disabled")
    good = evaluate(env, oracle(env.episode_sampler.task), "oracle", 20)
    bad = evaluate(env, RandomPolicy(), "random", 20)
    comparison = compare(good, bad)
    assert comparison.episodes == 20
    assert comparison.only_first > 10
    assert comparison.p_value < 0.01
    assert "oracle is better" in comparison.verdict("oracle", "random")
    assert compare(good, good).p_value == 1.0
    even = Comparison(only_first=6, only_second=4, both=80, neither=10)
    assert even.p_value > 0.5
    assert even.episodes_needed > 500
    other = evaluate(env, RandomPolicy(), "random", 20, seed=5)
    with pytest.raises(ValueError, match="same episodes"):
        compare(good, other)


def test_wilson_intervals_contain_the_fraction_and_shrink():
    low, high = wilson_interval(90, 100)
    assert low < 0.9 < high
    assert wilson_interval(900, 1000)[0] > low
    assert wilson_interval(0, 10)[0] == 0.0
    assert wilson_interval(10, 10)[1] == 1.0


def test_the_catalog_of_scripts_suggests_names():
    with pytest.raises(KeyError, match="Did you mean 'oracle'"):
        SCRIPTED["oracel"]
