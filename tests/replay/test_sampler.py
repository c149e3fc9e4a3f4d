"""Hindsight: goals are later steps, and every reward belongs to its own goal."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numbered_episodes import (  # noqa: E402
    COORDINATES,
    EPISODE,
    FEATURES,
    GOAL_SPEC,
    OBJECTS,
    REWARD,
    STEP,
    STEPS,
    all_visible,
    buffer_of,
    make_sampler,
    numbered_episodes,
)

from jostle.core.protocols import GoalSpec  # noqa: E402
from jostle.replay.buffer import EpisodeBuffer  # noqa: E402
from jostle.replay.episodes import Trajectory  # noqa: E402
from jostle.replay.hindsight import future, per_object  # noqa: E402


def number(entities, row: int, column: int) -> int:
    """What a row's gripper says in a column."""
    return int(entities.values[row, 0, 0, column])


def test_every_reward_belongs_to_its_own_goal_and_no_other():
    buffer = buffer_of(3)
    desired_before = buffer.view().desired.copy()
    batch = make_sampler(buffer).sample(2000)  # many times each transition: nothing may leak
    achieved = batch.actor.next_state.values[:, 0, 1:, :2].numpy()
    desired = batch.actor.goal.values[:, 0, :, :2].numpy()
    np.testing.assert_array_equal(batch.reward.numpy(), REWARD.total(achieved, desired))
    np.testing.assert_array_equal(buffer.view().desired, desired_before)


def test_n_steps_add_up_discounted_and_stop_at_the_end_of_the_episode():
    buffer = buffer_of(3)
    stored = buffer.view()
    batch = make_sampler(buffer, gamma=0.9, n_step=3).sample(300)
    assert len(batch.discount.unique()) == 3
    for row in range(300):
        episode, step = (number(batch.actor.state, row, column) for column in (EPISODE, STEP))
        later = number(batch.actor.next_state, row, STEP)
        assert later == min(step + 3, STEPS)
        goal = batch.actor.goal.values[row, 0, :, :2].numpy()[None]
        rewards = [
            0.9**k * REWARD.total(stored.achieved[episode, step + 1 + k][None], goal)[0]
            for k in range(later - step)
        ]
        np.testing.assert_allclose(batch.reward[row], sum(rewards), rtol=1e-5)
        np.testing.assert_allclose(batch.discount[row], 0.9 ** (later - step), rtol=1e-5)


@pytest.mark.parametrize("n_step", [1, 3])
def test_the_potential_is_the_present_reward_forever(n_step):
    buffer = buffer_of(3)
    assert make_sampler(buffer).sample(5).potential is None
    sampler = make_sampler(buffer, gamma=0.9, potential_baseline=True, n_step=n_step)
    batch = sampler.sample(200)
    desired = batch.actor.goal.values[:, 0, :, :2].numpy()
    ends = (batch.actor.state, batch.actor.next_state)
    for potential, end in zip(batch.potential, ends, strict=True):
        reward = REWARD.total(end.values[:, 0, 1:, :2].numpy(), desired)
        np.testing.assert_allclose(potential.numpy(), reward / (1 - 0.9), rtol=1e-5)


def test_hindsight_goals_are_later_steps_of_the_same_episode():
    buffer = buffer_of(4)
    stored = buffer.view()
    batch = make_sampler(buffer, her_ratio=1.0).sample(800)
    for row in range(800):
        episode, step = (number(batch.actor.state, row, column) for column in (EPISODE, STEP))
        goal = batch.actor.goal.values[row, 0, :, :2].numpy()
        match = (stored.achieved[episode] == goal).all((1, 2))
        assert match.sum() == 1
        assert step < int(match.argmax()) < STEPS
        blank = batch.actor.goal.values[row, 0, :, STEP]
        assert (blank == 0).all(), "goals leave other columns blank"


def test_without_hindsight_goals_are_those_of_the_episodes():
    buffer = buffer_of(4)
    batch = make_sampler(buffer, her_ratio=0.0).sample(200)
    episode = batch.actor.state.values[:, 0, 0, EPISODE].long().numpy()
    goal = batch.actor.goal.values[:, 0, :, :2].numpy()
    np.testing.assert_array_equal(goal, buffer.view().desired[episode])


def test_per_object_hindsight_gives_each_object_a_step_of_its_own():
    buffer = buffer_of(4)
    stored = buffer.view()
    batch = make_sampler(buffer, her_ratio=1.0, strategy="per-object").sample(500)
    different = 0
    for row in range(500):
        episode, step = (number(batch.actor.state, row, column) for column in (EPISODE, STEP))
        goal = batch.actor.goal.values[row, 0, :, :2].numpy()
        steps = [(stored.achieved[episode, :, n] == goal[n]).all(-1).argmax() for n in range(2)]
        assert min(steps) > step
        if steps[0] != steps[1]:
            different += 1
            assert np.linalg.norm(goal[0] - goal[1]) >= 0.035
    assert different > 200


def test_objects_that_share_a_goal_are_relabeled_with_the_heading_of_one_of_them():
    goal_spec = GoalSpec(1, GOAL_SPEC.columns, COORDINATES, shared=True)
    batch = make_sampler(buffer_of(4), goal_spec, her_ratio=1.0).sample(300)
    goal = batch.actor.goal.values[:, 0].numpy()
    np.testing.assert_array_equal(goal[:, 0, :2], goal[:, 1, :2])
    np.testing.assert_array_equal(goal[:, :, 4:], np.broadcast_to(np.eye(2), (300, 2, 2)))


@pytest.mark.parametrize("strategy", ["future", "per-object"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_goal_with_the_gripper_shows_it_at_the_goal_step(strategy, shared):
    episodes, buffer = numbered_episodes(4), EpisodeBuffer(4)
    states, goals = episodes.actor.states, episodes.actor.goal
    states.values[..., 0, 0, 0] = states.values[..., 0, 0, STEP]  # the gripper is where time is
    gripper = np.zeros_like(goals.values[:, :, :1])
    with_gripper = all_visible(np.concatenate((gripper, goals.values), axis=2))
    buffer.add(replace(episodes, actor=Trajectory(states, with_gripper)))
    goal_spec = GoalSpec(0, GOAL_SPEC.columns, COORDINATES, shared=shared)
    batch = make_sampler(buffer, goal_spec, her_ratio=1.0, strategy=strategy).sample(300)
    state, goal, _ = (entities.values[:, 0].numpy() for entities in batch.actor)
    assert goal.shape == (300, 1 + OBJECTS, FEATURES)
    for row in range(300):
        episode, step = int(state[row, 0, EPISODE]), int(goal[row, 0, 0])
        assert state[row, 0, STEP] < step < STEPS
        path = episodes.achieved[episode]  # (T+1, N, 2)
        sources = path[step] if shared else path[step, :1]
        assert (goal[row, 1, :2] == sources).all(-1).any(), "the first object is of the same step"
    np.testing.assert_array_equal(goal[:, 1:, 4:], np.broadcast_to(np.eye(2), (300, 2, 2)))


def test_future_steps_are_uniform_and_in_range():
    step = np.full(20_000, 3)
    later = future(step, np.full_like(step, 7), np.random.default_rng(0))
    assert set(later) == {4, 5, 6, 7}
    np.testing.assert_allclose(np.bincount(later)[4:] / 20_000, 0.25, atol=0.02)


def test_overlapping_goals_fall_back_to_one_step_for_all_objects():
    paths = np.zeros((50, 10, 2, 2), np.float32)
    steps = per_object(np.zeros(50, int), np.full(50, 8), paths, 0.035, np.random.default_rng(0))
    assert (steps[:, 0] == steps[:, 1]).all()


@pytest.mark.parametrize("every", [1, 2, 4, 9])
def test_hindsight_goals_can_be_images_rendered_during_the_episode(every):
    episodes, buffer = numbered_episodes(3), EpisodeBuffer(3)
    states = episodes.actor.states
    steps = np.arange(every, STEPS + 1, every)
    rendered = all_visible(-states.values[:, steps])  # no state looks like this
    actor = Trajectory(states, states.map(lambda values: values[:, 0]))
    buffer.add(replace(episodes, actor=actor, rendered_goals=rendered))
    columns = np.ones(FEATURES, np.float32)
    whole_sets = GoalSpec(0, columns, columns, whole_sets=True)
    sampler = make_sampler(buffer, whole_sets, goal_render_every=every, her_ratio=1.0)
    state, goal, next_state = (batch := sampler.sample(400)).actor

    goal_steps = -goal.values[:, 0, 0, STEP]
    assert set(goal_steps.int().tolist()) == set(steps.tolist())
    assert (goal_steps > state.values[:, 0, 0, STEP]).all()
    assert (-goal.values[:, 0, 0, EPISODE] == state.values[:, 0, 0, EPISODE]).all()
    achieved, desired = next_state.values[:, 0, 1:, :2], -goal.values[:, 0, 1:, :2]
    expected = REWARD.total(achieved.numpy(), desired.numpy())
    np.testing.assert_array_equal(batch.reward.numpy(), expected)


@pytest.mark.parametrize("every", [0, 2])
@pytest.mark.parametrize("strategy", ["future", "per-object"])
def test_hindsight_goals_can_be_kept_on_the_table(every, strategy):
    episodes, buffer = numbered_episodes(4), EpisodeBuffer(4)
    falls_at = np.array([STEPS + 1, 5, 2, 1])  # never, late, early, at once: no goal is left
    for index, step in enumerate(falls_at):
        episodes.achieved[index, step:, 0, 0] = 0.3
    states = episodes.actor.states
    states.values[..., 0, 1:, :2] = episodes.achieved
    goal_spec = replace(GOAL_SPEC, table_half_size=np.array([0.25, 0.3], np.float32))
    if every:
        goal = states.map(lambda values: values[:, 0])
        episodes = replace(
            episodes,
            actor=Trajectory(states, goal),
            desired=episodes.achieved[:, 0],
            rendered_goals=all_visible(states.values[:, every::every]),
        )
        goal_spec = replace(goal_spec, first_entity=0, whole_sets=True)
    buffer.add(episodes)
    sampler = make_sampler(
        buffer, goal_spec, goal_render_every=every, strategy=strategy, her_ratio=1.0
    )
    batch = sampler.sample(800)

    # No goal lies beside the table
    desired = batch.actor.goal.values[:, 0, -OBJECTS:, :2].numpy()
    assert (np.abs(desired) <= goal_spec.table_half_size).all()

    # Episodes keep their own goal where nothing else is left, and only there
    episode = batch.actor.state.values[:, 0, 0, EPISODE].numpy().astype(int)
    step = batch.actor.state.values[:, 0, 0, STEP].numpy()
    own_goal = episodes.actor.goal.values[episode, 0, -OBJECTS:, :2]
    relabeled = ~(desired == own_goal).all((1, 2))
    assert not relabeled[episode == 3].any()
    assert relabeled[episode == 0].all()
    assert (step[relabeled] < falls_at[episode[relabeled]] - 1).all()
    achieved = batch.actor.next_state.values[:, 0, 1:, :2].numpy()
    np.testing.assert_array_equal(batch.reward.numpy(), REWARD.total(achieved, desired))
