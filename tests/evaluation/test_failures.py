"""Causes of failures on staged episodes: each rule finds its own, and none finds another's."""

from dataclasses import replace

import numpy as np
import pytest

from jostle.core.errors import BadValueError
from jostle.evaluation.evaluate import evaluate
from jostle.evaluation.failures import CAUSES, Seen, Trajectory, cause_of
from jostle.evaluation.tracing import TracingPolicy

STEPS = 100
GOALS = np.array([(0.10, 0.10), (-0.10, 0.10), (0.10, -0.10)])


def staged(**changes) -> Trajectory:
    """Three cubes; the first one is on its way to its goal and does not arrive, the others do."""
    objects = np.zeros((STEPS, 3, 3))
    objects[..., 2] = 0.0175
    objects[:, 0, 0] = np.linspace(-0.10, 0.04, STEPS)
    objects[:, 0, 1] = 0.02
    for index in (1, 2):
        objects[:, index, :2] = GOALS[index]
    values = {
        "objects": objects, "goals": GOALS, "at_goal": np.array([False, True, True]),
        "fallen": np.zeros(3, bool), "radius": 0.04,
    }  # fmt: skip
    return Trajectory(**{**values, **changes})


def with_object(index: int, xy) -> np.ndarray:
    objects = staged().objects.copy()
    objects[:, index, :2] = xy
    return objects


def all_seen(**changes) -> Seen:
    values = {
        "detected": np.ones((STEPS, 3), bool), "confused": np.zeros((STEPS, 3), bool),
        "goal_confused": np.zeros(3, bool),
    }  # fmt: skip
    return Seen(**{**values, **changes})


def flags(index: int, value: bool, steps: int) -> np.ndarray:
    """Flags of all objects; those of one of them have `value` in the last steps."""
    array = np.full((STEPS, 3), not value)
    array[STEPS - steps :, index] = value
    return array


def test_a_success_has_no_cause():
    assert cause_of(staged(at_goal=np.ones(3, bool))) == ""


def test_an_object_that_still_comes_nearer_ran_out_of_time():
    assert cause_of(staged()) == "ran out of time"
    assert cause_of(staged(seen=all_seen())) == "ran out of time"


def test_an_object_below_the_table_fell_off():
    assert cause_of(staged(fallen=np.array([True, False, False]))) == "fell off"


def test_an_object_that_does_not_come_nearer_is_dithering():
    still = with_object(0, (0.03, 0.02))
    assert cause_of(staged(objects=still)) == "dithering"
    back_and_forth = still.copy()
    back_and_forth[:, 0, 0] += 0.03 * np.sign(np.sin(np.arange(STEPS))) - 0.03
    assert cause_of(staged(objects=back_and_forth)) == "dithering"


def test_no_episode_dithers_while_another_missing_object_comes_nearer():
    objects = staged().objects.copy()
    objects[:, 1, :2] = (-0.1, 0.0)  # not begun
    assert cause_of(staged(objects=objects, at_goal=np.array([False, False, True]))) == (
        "ran out of time"
    )


def test_an_object_on_the_goal_or_in_the_way_blocks():
    still = with_object(0, (0.03, 0.02))
    on_goal = still.copy()
    on_goal[:, 1, :2] = GOALS[0] + 0.005
    near_own = np.array([GOALS[0], GOALS[0] + (0.03, 0), GOALS[2]])
    assert cause_of(staged(objects=on_goal, goals=near_own)) == "blocked by another object"

    ahead = still.copy()
    direction = (GOALS[0] - still[0, 0, :2]) / np.linalg.norm(GOALS[0] - still[0, 0, :2])
    ahead[:, 1, :2] = still[0, 0, :2] + 0.038 * direction
    moved = np.array([GOALS[0], ahead[0, 1, :2], GOALS[2]])
    assert cause_of(staged(objects=ahead, goals=moved)) == "blocked by another object"

    behind = still.copy()
    behind[:, 1, :2] = still[0, 0, :2] - 0.038 * direction
    moved = np.array([GOALS[0], behind[0, 1, :2], GOALS[2]])
    assert cause_of(staged(objects=behind, goals=moved)) == "dithering"


def test_an_object_at_the_goal_of_another_was_matched_wrongly():
    objects = staged().objects.copy()
    objects[50:, 0, :2] = GOALS[1]
    objects[:, 1, :2] = (-0.02, -0.1)
    episode = staged(objects=objects, at_goal=np.array([False, False, True]))
    assert cause_of(episode) == "wrong color matched"
    stays = with_object(0, GOALS[1])  # it was there from the start
    stays[:, 1, :2] = (-0.02, -0.1)
    assert cause_of(staged(objects=stays, at_goal=np.array([False, False, True]))) == "dithering"


def test_what_the_agent_saw_decides_before_what_happened():
    unseen = all_seen(detected=flags(0, False, 30))
    assert cause_of(staged(seen=unseen)) == "object hidden"
    confused = all_seen(confused=flags(0, True, 30))
    confused = replace(confused, confused=confused.confused & flags(0, True, 30))
    confused.confused[:, 1:] = False
    assert cause_of(staged(seen=confused)) == "particle swapped or merged"
    goal = all_seen(goal_confused=np.array([True, False, False]))
    assert cause_of(staged(seen=goal)) == "wrong color matched"


def test_objects_at_their_goals_and_short_moments_decide_nothing():
    other = all_seen(detected=flags(1, False, 40), goal_confused=np.array([False, True, False]))
    assert cause_of(staged(seen=other)) == "ran out of time"
    short = all_seen(detected=flags(0, False, 10))
    assert cause_of(staged(seen=short)) == "ran out of time"


def test_every_failure_has_exactly_one_cause_and_every_cause_is_documented():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs/concepts/failures.md").read_text()
    assert all(f"| {cause} |" in page for cause in CAUSES)
    rng = np.random.default_rng(0)
    for _ in range(50):
        episode = staged(
            objects=rng.uniform(-0.2, 0.2, (STEPS, 3, 3)), at_goal=rng.random(3) < 0.5,
            fallen=rng.random(3) < 0.1,
        )  # fmt: skip
        assert (cause_of(episode) in CAUSES) == (not episode.at_goal.all())


# Episodes of the simulator


class Still:
    """A policy that does nothing."""

    def act(self, observation):
        return np.zeros((len(observation["observation"]), 3), np.float32)


def causes(make_env, policy, episodes=5, task="TwoCubes"):
    env = make_env(2, task, autoreset_mode="Disabled")
    traced = TracingPolicy(policy, env)
    result = evaluate(env, traced, "policy", episodes)
    return result, traced.causes(result.episodes)


def test_a_policy_that_does_nothing_dithers(make_env):
    result, found = causes(make_env, Still())
    assert [cause == "" for cause in found] == [e.success == 1 for e in result.episodes]
    assert {cause for cause in found if cause} <= {"dithering", "blocked by another object"}


class Sweeper:
    """Pushes the first object straight away from the table's center."""

    def act(self, observation):
        state = observation["observation"]
        outward = state[:, 1, :2] / np.linalg.norm(state[:, 1, :2], axis=-1, keepdims=True)
        behind = state[:, 1, :2] - 0.06 * outward - state[:, 0, :2]
        through = state[:, 1, :2] + 0.1 * outward - state[:, 0, :2]
        aligned = np.linalg.norm(behind, axis=-1, keepdims=True) < 0.02
        self.pushing = aligned | getattr(self, "pushing", np.zeros_like(aligned))
        xy = np.where(self.pushing, through, behind) / 0.125
        return np.concatenate((xy, np.full_like(xy[:, :1], -0.2)), 1).clip(-1, 1).astype("f4")


def test_an_object_that_is_pushed_over_the_edge_fell_off(make_env):
    result, found = causes(make_env, Sweeper(), episodes=2, task="OneCube")
    assert sum(episode.fallen > 0 for episode in result.episodes) > 0
    for episode, cause in zip(result.episodes, found, strict=True):
        assert (episode.fallen > 0) == (cause == "fell off")


def test_causes_do_not_change_results(make_env):
    env = make_env(2, "TwoCubes", autoreset_mode="Disabled")
    plain = evaluate(env, Still(), "policy", 3)
    traced, _ = causes(make_env, Still(), 3)
    assert plain.episodes == traced.episodes
    named = plain.with_causes(["dithering", "", "fell off"])
    assert [row.get("cause") for row in named.rows()] == ["dithering", None, "fell off"]
    assert all("cause" not in row for row in plain.rows())


def test_headings_have_no_causes(make_env):
    with pytest.raises(BadValueError, match="yaw goals"):
        TracingPolicy(Still(), make_env(1, "PushT"))
