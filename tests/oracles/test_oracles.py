"""The scripts solve their tasks, are pure functions, and plan around things."""

import numpy as np
import pytest

from jostle.evaluation.compare import Comparison, compare
from jostle.evaluation.examine import examine, wilson
from jostle.oracles.catalog import SCRIPTED, oracle
from jostle.oracles.planner import BLOCKED, shortest
from jostle.oracles.policy import RandomPolicy

LOW, HIGH = np.array((-1.0, -1.0)), np.array((1.0, 1.0))

AIMS = {
    "OneCube": 0.9, "TwoCubes": 0.9, "ThreeCubes": 0.85, "AdjacentGoals": 0.75,
    "SmallTable": 0.65, "OrderedPush": 0.75, "PushT": 0.7,
}  # fmt: skip


@pytest.mark.parametrize("name", AIMS)
def test_the_oracle_solves_its_task(name, make_env):
    env = make_env(40, name, autoreset_mode="Disabled")
    assert examine(env, oracle(env.recipe.task), "oracle", 40).mean("success") >= AIMS[name]


def test_the_random_policy_does_not(make_env):
    env = make_env(40, "ThreeCubes", autoreset_mode="Disabled")
    assert examine(env, RandomPolicy(), "random", 40).mean("success") < 0.1


@pytest.mark.parametrize("name", [*AIMS, "Sorting", "Distractors"])
def test_oracles_are_pure_functions_of_each_copys_observation(name, make_env):
    env = make_env(4, name, autoreset_mode="Disabled")
    script = oracle(env.recipe.task)
    observation, _ = env.reset(seed=0)
    for _ in range(8):
        actions = script.act(observation)
        assert actions.shape == (4, 3)
        assert actions.dtype == np.float32
        assert (np.abs(actions) <= 1).all()
        turned = script.act({key: values[::-1] for key, values in observation.items()})
        np.testing.assert_allclose(turned[::-1], actions, atol=1e-6)
        observation, *_ = env.step(actions)


def test_oracles_do_not_mind_absent_objects(make_env):
    env = make_env(24, "NCubes", objects=(1, 3), autoreset_mode="Disabled")
    assert examine(env, oracle(env.recipe.task), "oracle", 24).mean("success") > 0.8


def test_a_free_way_is_straight():
    start, goal = np.array([[0.0, 0.0]]), np.array([[0.5, 0.2]])
    none = np.full((1, 1, 2), np.nan)
    ways = shortest(start, goal, none, np.full((1, 1, 2), 0.1), LOW, HIGH)
    np.testing.assert_array_equal(ways.first, goal)
    assert ways.length[0] == pytest.approx(np.hypot(0.5, 0.2))


def test_a_way_around_a_box_is_the_shorter_of_the_two():
    start, goal = np.array([[-0.5, 0.02]]), np.array([[0.5, 0.02]])
    box, half = np.zeros((1, 1, 2)), np.full((1, 1, 2), 0.1)
    ways = shortest(start, goal, box, half, LOW, HIGH)
    assert ways.first[0, 1] > 0.1, "over the top, since the way starts above the middle"
    assert 1.0 < ways.length[0] < 1.1


def test_walls_without_a_gap_leave_no_way():
    wall, half = np.zeros((1, 1, 2)), np.array([[[0.1, 2.0]]])
    ways = shortest(np.array([[-0.5, 0.0]]), np.array([[0.5, 0.0]]), wall, half, LOW, HIGH)
    assert ways.length[0] >= BLOCKED


def test_the_way_is_never_shorter_than_the_straight_line(rng):
    start, goal = rng.uniform(-1, 1, (50, 2)), rng.uniform(-1, 1, (50, 2))
    boxes, halves = rng.uniform(-0.8, 0.8, (50, 4, 2)), rng.uniform(0.05, 0.2, (50, 4, 2))
    ways = shortest(start, goal, boxes, halves, LOW, HIGH)
    assert (ways.length >= np.linalg.norm(goal - start, axis=-1) - 1e-9).all()


def test_comparisons_are_paired_and_honest(make_env):
    env = make_env(20, "OneCube", autoreset_mode="Disabled")
    good = examine(env, oracle(env.recipe.task), "oracle", 20)
    bad = examine(env, RandomPolicy(), "random", 20)
    found = compare(good, bad)
    assert found.episodes == 20
    assert found.only_first > 10
    assert found.p_value < 0.01
    assert "oracle is better" in found.verdict("oracle", "random")
    assert compare(good, good).p_value == 1.0
    even = Comparison(only_first=6, only_second=4, both=80, neither=10)
    assert even.p_value > 0.5
    assert even.episodes_needed > 500
    other = examine(env, RandomPolicy(), "random", 20, seed=5)
    with pytest.raises(ValueError, match="same episodes"):
        compare(good, other)


def test_wilson_intervals_hold_the_share_and_shrink():
    low, high = wilson(90, 100)
    assert low < 0.9 < high
    assert wilson(900, 1000)[0] > low
    assert wilson(0, 10)[0] == 0.0
    assert wilson(10, 10)[1] == 1.0


def test_the_catalog_of_scripts_helps():
    with pytest.raises(KeyError, match="Did you mean 'oracle'"):
        SCRIPTED["oracel"]
