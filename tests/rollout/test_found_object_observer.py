"""Objects found in images as entities: rows of goals, memory of an episode, goals of hindsight."""

import numpy as np
import pytest

pytest.importorskip("torch")

from found_objects import ARM, COLORS, PARTICLES, by_sum, particles
from jostle.core.entities import HEIGHT, OBJECT_ID, POSITION, Entities
from jostle.core.errors import BadValueError, NotFiniteError
from jostle.envs.observe import StateReader
from jostle.rewards.rows import RowReward
from jostle.rollout.found_object_observer import FOUND_LAYOUT, FoundObjectObserver
from jostle.rollout.found_object_recorder import FoundObjectRecorder
from jostle.rollout.observer import StateObserver
from jostle.tasks.catalog import TASKS

RED, GREEN, BLUE, _ = COLORS
REWARD = RowReward(FOUND_LAYOUT, scale=0.5, farthest=1.0)
HALF = np.array([0.2, 0.3], np.float32)
GOAL = [(RED, (0.1, 0.0)), (GREEN, (-0.1, 0.0))]
START = [(RED, (0.0, 0.1)), (GREEN, (0.0, -0.1))]


class Particles:
    """An observer of particles that are given as they are."""

    layout, state_shape = PARTICLES, (1, 6, PARTICLES.width)

    def state(self, observation):
        return observation["particles"]

    def goal(self, observation):
        return observation["goal_particles"]


def observation(*scenes, goals=None):
    """What environments show in which these particles, and those of the goals, are seen."""
    goals = goals or [GOAL] * len(scenes)
    return {
        "observation": np.full((len(scenes), 3, 3), 0.05, np.float32),
        "particles": Entities.cat([particles(scene) for scene in scenes]),
        "goal_particles": Entities.cat([particles(goal) for goal in goals]),
    }


def observer(num_envs=1, objects=2, rng=None):
    return FoundObjectObserver(Particles(), by_sum(), (num_envs, objects), rng)


def places(entities):
    """Where visible objects are, by row of the goal, None for others; with the gripper's row."""
    rounded = np.round(entities.values[:, 0, :, FOUND_LAYOUT[POSITION]].astype(float), 3) + 0.0
    return [
        [tuple(place.tolist()) if shown else None for place, shown in zip(*one, strict=True)]
        for one in zip(rounded, entities.visible[:, 0], strict=True)
    ]


def test_the_columns_are_those_of_true_state():
    task = TASKS["ThreeCubes"]
    reader = StateReader(task.goal_metric(False), 3, task.table)
    assert StateObserver(reader, 1, None).layout == FOUND_LAYOUT


def test_rows_of_states_are_those_of_goals_whatever_the_order_of_particles():
    rng = np.random.default_rng(0)
    seen = [*START, (BLUE, (0.1, 0.1)), (ARM, (0.0, 0.0))]
    for _ in range(5):
        order = rng.permutation(len(seen))
        now = observation([seen[i] for i in order], goals=[[GOAL[i] for i in rng.permutation(2)]])
        found = observer()
        state, goal = places(found.state(now))[0][1:], places(found.goal(now))[0]
        pairs = {
            RED.tobytes(): ((0.0, 0.1), (0.1, 0.0)),
            GREEN.tobytes(): ((0.0, -0.1), (-0.1, 0.0)),
        }
        assert sorted(zip(state, goal, strict=True)) == sorted(pairs.values())


def test_objects_share_ids_with_their_goals_and_new_episodes_draw_new_ones():
    found = observer(num_envs=2, rng=np.random.default_rng(0))
    drawn = []
    for _ in range(3):
        found.reset(np.arange(2))
        now = observation(START, START)
        ids = [
            x.values[:, 0, -2:, FOUND_LAYOUT[OBJECT_ID]]
            for x in (found.state(now), found.goal(now))
        ]
        np.testing.assert_array_equal(*ids)
        assert (ids[0].sum(-1) == 1).all()
        drawn.append(ids[0].argmax(-1).tolist())
    assert len({str(ids) for ids in drawn}) == 3


def test_a_hidden_object_stays_where_it_was_seen_and_one_never_seen_is_absent():
    found = observer()
    assert places(found.state(observation(START[:1])))[0][1:] == [(0.0, 0.1), None]
    assert places(found.state(observation(START)))[0][1:] == [(0.0, 0.1), (0.0, -0.1)]
    moved = [(GREEN, (0.05, -0.1))]
    assert places(found.state(observation(moved)))[0][1:] == [(0.0, 0.1), (0.05, -0.1)]
    assert found.seen.tolist() == [[False, True]]


def test_asking_twice_changes_nothing():
    found = observer()
    for scene in (START, START[:1], [(RED, (0.05, 0.1))]):
        first = found.state(observation(scene))
        again = found.state(observation(scene))
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_new_goal_begins_an_episode_of_its_environment_alone():
    found = observer(num_envs=2)
    found.state(observation(START, START))
    other = [(GREEN, (0.1, 0.1)), (RED, (-0.1, 0.1))]
    state = found.state(observation(START[:1], START[:1], goals=[GOAL, other]))
    first, second = (row[1:] for row in places(state))
    assert first == [(0.0, 0.1), (0.0, -0.1)], "the other environment forgot its objects"
    assert second == [None, (0.0, 0.1)]


def test_episodes_that_start_together_forget_everything_even_with_the_same_goal():
    found = observer()
    found.state(observation(START))
    found.reset(np.arange(1))
    assert places(found.state(observation(START[:1])))[0][1:] == [(0.0, 0.1), None]


def test_a_goal_with_more_objects_than_the_task_keeps_those_of_the_task():
    found = observer(objects=1)
    assert found.state(observation(START)).values.shape == (1, 1, 2, FOUND_LAYOUT.width)
    assert found.goal(observation(START)).values.shape == (1, 1, 1, FOUND_LAYOUT.width)


@pytest.mark.parametrize(
    "later",
    [START[:1], [START[0], (GREEN, (0.0, -0.25))], [START[0], (GREEN, (9.0, 9.0))], []],
    ids=["hidden", "pushed away", "far off the table", "nothing is seen"],
)
def test_hiding_an_object_or_pushing_it_away_never_raises_the_reward(later):
    found = observer()
    before, goal = found.state(observation(START)), found.goal(observation(START))
    after = found.state(observation(later))
    assert REWARD.total(after, goal) <= REWARD.total(before, goal)
    assert REWARD.total(after, goal) >= REWARD.minimum


def test_an_object_that_the_arm_cannot_hide_has_fallen_until_it_is_seen_again():
    found = observer()
    before, goal = found.state(observation(START)), found.goal(observation(START))
    rewards, fallen = [REWARD.per_object(before, goal)[0][0]], []
    for step in range(4):  # a particle that moves, so that no two steps are alike
        state = found.state(observation([(RED, (0.01 * step, 0.1))]))
        fallen.append(state.values[0, 0, 1:, FOUND_LAYOUT[HEIGHT]].ravel() < 0)
        rewards.append(REWARD.per_object(state, goal)[0][0])
    np.testing.assert_array_equal(fallen, [[0, 0], [0, 0], [0, 1], [0, 1]])
    by_step = np.array(rewards)[:, 1]
    assert by_step[1] == by_step[2] == by_step[0]
    assert REWARD.minimum < by_step[3] == by_step[4] < by_step[0]
    state = found.state(observation(START))
    assert (state.values[0, 0, 1:, FOUND_LAYOUT[HEIGHT]] > 0).all()
    np.testing.assert_allclose(REWARD.per_object(state, goal)[0][0], rewards[0])


def test_an_object_near_the_gripper_may_be_hidden_for_long():
    found = observer()
    near = [(RED, (0.0, 0.1)), (GREEN, (0.05, 0.06))]  # the gripper is at (0.05, 0.05)
    found.state(observation(near))
    for step in range(5):
        state = found.state(observation([(RED, (0.01 * step, 0.1))]))
    assert (state.values[0, 0, 1:, FOUND_LAYOUT[HEIGHT]] > 0).all()


def test_the_reward_is_zero_at_the_goal_and_least_for_what_was_never_seen():
    found = observer()
    there, goal = found.state(observation(GOAL)), found.goal(observation(GOAL))
    assert REWARD.total(there, goal) == 0
    rewards, present = REWARD.per_object(there, goal)
    np.testing.assert_allclose(REWARD.total(there, goal), (rewards * present).sum() / present.sum())
    hidden = observer().state(observation([]))
    np.testing.assert_allclose(REWARD.total(hidden, goal), REWARD.minimum)
    assert not REWARD.per_object(hidden, goal)[1].any()  # no entity, so no value
    assert REWARD.total(there, Entities(goal.values, goal.visible & False)) == REWARD.minimum
    with pytest.raises(NotFiniteError):
        REWARD.total(Entities(there.values * np.nan, there.visible), goal)


def recorded(*scenes, goal=GOAL):
    found = observer()
    recorder = FoundObjectRecorder(found, REWARD, 0.04, HALF)
    for step, scene in enumerate(scenes):
        now = observation(scene, goals=[goal])
        state = found.state(now)
        if step:
            recorder.add(state)
        else:
            recorder.start(state, found.goal(now))
    return recorder


def test_a_step_may_become_a_goal_if_every_goal_object_is_seen_on_the_table():
    recorder = recorded(
        START,
        [*START, (BLUE, (0.1, 0.1)), (ARM, (0.0, 0.0))],
        START[:1],  # one is hidden
        [(RED, (0.19, 0.1)), START[1]],
        [(RED, (0.21, 0.1)), START[1]],  # beside the table, as it falls
    )
    assert recorder.goal_steps()[0].tolist() == [True, True, False, True, False]


def test_metrics_are_of_the_last_step_and_the_return_is_per_step():
    half = [(RED, (0.1, 0.0)), (GREEN, (0.0, 0.0))]
    metrics = recorded(START, half, GOAL).metrics()
    assert metrics["image_success"] == 1
    np.testing.assert_allclose(metrics["image_distance"], 0, atol=1e-6)
    np.testing.assert_allclose(metrics["image_return"], -2 * 0.1 / 0.5 / 2 / 2, atol=1e-6)
    metrics = recorded(START, half).metrics()
    assert (metrics["image_success"], metrics["image_success_fraction"]) == (0, 0.5)
    with pytest.raises(BadValueError, match="no object in any of 1 goal images"):
        recorded(START, goal=[(ARM, (0.0, 0.0))])


def test_another_number_of_environments_is_refused():
    with pytest.raises(BadValueError, match="made for 2 environments"):
        observer(num_envs=2).state(observation(START))


def test_goals_of_hindsight_are_positions_and_ids_of_objects():
    found, spec = observer(), observer().goal_spec()
    state = found.state(observation(START))
    goal = state.values[0, 0, spec.first_entity :] * spec.columns
    expected = found.goal(observation(START, goals=[START])).values[0, 0]
    np.testing.assert_allclose(goal, expected, atol=1e-6)
    assert spec.whole_sets
