"""The simulation behind the page: playing, editing, and what edits leave alone."""

from dataclasses import replace

import numpy as np
import pytest

from jostle.core.errors import BadValueError, JostleError
from jostle.playground.agent_choices import agent_choices, misfit
from jostle.playground.setup import YOU, PlaySetup, default_agent
from jostle.playground.simulation import EpisodeCrashedError, Simulation
from jostle.zoo.registry import agents


@pytest.fixture
def play():
    started = []

    def start(**fields):
        started.append(Simulation(PlaySetup(**{"task": "TwoCubes", **fields})))
        return started[-1]

    yield start
    for simulation in started:
        simulation.close()


def test_watching_an_action_in_parts_does_not_change_it(play):
    whole, parts = play(agent="oracle"), play(agent="oracle")
    for _ in range(6):
        assert len(whole.advance(1)) == 1
        assert len(parts.advance(8)) == 8
    np.testing.assert_array_equal(whole.env.physics.states, parts.env.physics.states)


def test_an_edited_goal_leaves_the_state_alone_and_is_pursued(play):
    simulation = play(task="OneCube", agent="oracle")
    simulation.advance()
    before = simulation.env.physics.states.copy()
    simulation.move_goal(0, 0.05, -0.15, 0.0)
    np.testing.assert_array_equal(simulation.env.physics.states, before)
    for _ in range(40):
        last = simulation.advance()[-1]
    assert last.status["success"]
    np.testing.assert_allclose(last.objects[0, :2], (0.05, -0.15), atol=0.04)


def test_a_restart_keeps_edited_goals_and_a_seed_draws_new_ones(play):
    simulation = play(agent="oracle")
    first = simulation.episode.to_json()
    simulation.move_goal(0, 0.0, 0.0, 0.0)
    simulation.advance()
    simulation.reset()
    assert simulation.step == 0
    np.testing.assert_array_equal(simulation.episode.goal[0], 0.0)
    np.testing.assert_allclose(simulation.present_poses, simulation.episode.start, atol=1e-12)
    simulation.reset(seed=1)
    assert simulation.episode.to_json() != first
    simulation.reset(seed=0)
    assert simulation.episode.to_json() == first


def test_a_dragged_object_arrives_and_pushes_what_is_in_its_way(play):
    simulation = play(agent=YOU)
    simulation.place(0, 0.1, -0.1)
    simulation.place(1, 0.1, 0.0)
    simulation.drag(0, 0.1, 0.05)
    simulation.release()
    for _ in range(5):
        simulation.advance()
    poses = simulation.present_poses
    np.testing.assert_allclose(poses[0, :2], (0.1, 0.05), atol=0.01)
    assert poses[1, 1] > 0.07
    assert simulation.env.physics.drag is None


def test_the_gripper_follows_actions_by_hand(play):
    simulation = play(agent=YOU)
    start = simulation.snapshot().gripper
    simulation.driven = np.array((0, 1, 0), np.float32)
    for _ in range(3):
        moved = simulation.advance()[-1].gripper
    assert moved[1] > start[1] + 0.1
    simulation.driven = None
    simulation.advance()
    np.testing.assert_allclose(simulation.advance()[-1].gripper[:2], moved[:2], atol=0.03)


def test_objects_and_arm_stay_where_they_are_when_others_come_and_go(play):
    simulation = play(agent="oracle")
    for _ in range(4):
        simulation.advance()
    poses, arm = simulation.env.physics.objects[0].copy(), simulation.env.physics.arm
    simulation.add_object()
    assert simulation.setup.task == "NCubes"
    np.testing.assert_array_equal(simulation.env.physics.objects[0, :2], poses)
    np.testing.assert_array_equal(simulation.env.physics.arm, arm)
    simulation.remove_object(0)
    np.testing.assert_array_equal(simulation.env.physics.objects[0, 0], poses[1])
    assert len(simulation.advance(4)) == 4


def test_another_agent_takes_over_the_running_episode(play):
    simulation = play(agent="oracle")
    simulation.advance()
    episode, states = simulation.episode.to_json(), simulation.env.physics.qpos.copy()
    simulation.change(replace(simulation.setup, agent="random"))
    assert (simulation.setup.agent, simulation.step) == ("random", 1)
    assert simulation.episode.to_json() == episode
    np.testing.assert_array_equal(simulation.env.physics.qpos, states)


@pytest.mark.parametrize(
    "wrong",
    [{"agent": "never-trained"}, {"objects": 5, "task": "Sorting"}, {"vary": "size=9x9"}],
)
def test_a_setup_that_is_impossible_changes_nothing(play, wrong):
    simulation = play(agent="oracle")
    simulation.advance()
    before, setup = simulation.env.physics.states.copy(), simulation.setup
    with pytest.raises(JostleError):
        simulation.change(PlaySetup(**{"task": "TwoCubes", **wrong}))
    assert simulation.setup == setup
    np.testing.assert_array_equal(simulation.env.physics.states, before)
    simulation.advance()


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"objects": 13}, {"task": "Juggling"}])
def test_setups_out_of_range_are_refused(wrong):
    with pytest.raises((BadValueError, KeyError)):
        PlaySetup(**wrong)


def test_a_diverged_episode_says_so_and_can_start_again(play):
    simulation = play(agent=YOU)
    simulation.env.physics.velocities[0, 0, :3] = 1e9
    with pytest.raises(EpisodeCrashedError, match="diverged"):
        simulation.advance()
    simulation.reset()
    simulation.advance()


def test_what_a_trained_agent_sees_is_reported(play):
    pytest.importorskip("torch")
    simulation = play(task="ThreeCubes", agent="three-cubes-state-td3")
    seen = simulation.advance()[-1].status["inspection"]
    assert len(seen["attention"]) == 1 + 3
    assert len(seen["values"]) == 3
    assert all(value < 0 for value in seen["values"])
    simulation.change(replace(simulation.setup, agent="three-cubes-pixels-dagger"))
    seen = simulation.advance()[-1].status["inspection"]
    assert seen["cameras"] == ["front", "side"]
    boxes = np.array(seen["views"][0])
    numbers = [box[4] for box in seen["goal_views"][0]]
    assert len(boxes) >= 3
    assert ((boxes[:, 4] >= 0) & (boxes[:, 4] <= 1)).all()
    assert {number for number in boxes[:, 5] if number >= 0} <= set(numbers)
    assert len({number for number in boxes[:, 5] if number >= 0}) >= 2


def test_agents_that_do_not_fit_are_listed_with_the_reason(tmp_path):
    choices = {choice.name: choice for choice in agent_choices("PushT", 1, tmp_path)}
    assert choices[YOU].reason == choices["oracle"].reason == ""
    assert choices["push-t-pixels-dagger"].reason == ""
    assert "push objects to places" in choices["three-cubes-state-td3"].reason
    assert misfit(tmp_path / "gone.safetensors", "PushT", 1) == "its file is gone"
    assert "no run" in misfit(tmp_path, "PushT", 1)
    assert set(agents()) <= set(choices)
    assert default_agent("three-cubes") == "three-cubes-pixels"
    assert default_agent("Sorting") == "oracle"
