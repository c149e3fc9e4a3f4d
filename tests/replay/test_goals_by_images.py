"""Hindsight by images: goals from allowed steps only, rewards of the objects seen then."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numbered_episodes import (  # noqa: E402
    EPISODE,
    FEATURES,
    STEP,
    STEPS,
    all_visible,
    make_sampler,
    numbered_episodes,
)

from jostle.core.entities import POSITION, Entities  # noqa: E402
from jostle.core.found_objects import SEEN, VIEWS, found_layout  # noqa: E402
from jostle.core.protocols import GoalSpec  # noqa: E402
from jostle.replay.buffer import EpisodeBuffer  # noqa: E402
from jostle.replay.episodes import Trajectory  # noqa: E402
from jostle.replay.hindsight import future_allowed, last_allowed  # noqa: E402
from jostle.rewards.table import TableReward  # noqa: E402

COUNT = 4
LAYOUT = found_layout(3, 1)
REWARD = TableReward(LAYOUT, same_color=20.0, scale=0.39, farthest=1.0)
WHOLE_SETS = GoalSpec(
    0, np.ones(FEATURES, np.float32), np.ones(FEATURES, np.float32), whole_sets=True
)


def watched_episodes():
    """Episodes of two objects found in images, and which steps may become goals."""
    rng, episodes = np.random.default_rng(5), numbered_episodes(COUNT)
    values = np.zeros((COUNT, STEPS + 1, 1, 3, LAYOUT.width), np.float32)
    values[..., LAYOUT[POSITION]] = rng.uniform(-0.2, 0.2, (*values.shape[:-1], 2))
    values[..., 0, LAYOUT["features"]] = [9.0, 0, 0]
    values[..., 1, LAYOUT["features"]] = [0, 9.0, 0]
    values[..., LAYOUT[VIEWS]] = values[..., LAYOUT[SEEN]] = 1
    visible = np.zeros(values.shape[:-1], bool)
    visible[..., :2] = True
    values[:, 6, 0, 1, LAYOUT[SEEN]] = 0  # remembered, not seen
    states = Entities(values, visible)
    objects = Trajectory(states, states.map(lambda array: array[:, 3].copy()))
    goal_steps = rng.random((COUNT, STEPS + 1)) < 0.5
    goal_steps[0], goal_steps[1, 6] = False, True
    hidden = np.full_like(episodes.achieved, np.nan)  # nothing true is read
    actor = Trajectory(
        episodes.actor.states, episodes.actor.states.map(lambda array: array[:, 0].copy())
    )
    return replace(
        episodes, actor=actor, objects=objects, goal_steps=goal_steps, achieved=hidden,
        desired=hidden[:, 0],
    )  # fmt: skip


def sampled(spec=WHOLE_SETS, episodes=None, **options):
    buffer = EpisodeBuffer(COUNT)
    buffer.add(episodes or watched_episodes())
    sampler = make_sampler(buffer, spec, reward=REWARD, her_ratio=1.0, **options)
    return buffer.view(), sampler.sample(600)


def numbers(entities):
    return (entities.values[:, 0, 0, column].numpy().astype(int) for column in (EPISODE, STEP))


@pytest.mark.parametrize("every", [0, 2])
def test_goals_are_allowed_steps_and_episodes_without_any_keep_their_own(every):
    episodes = watched_episodes()
    if every:
        rendered = -episodes.actor.states.values[:, every::every]  # no state looks like this
        episodes = replace(episodes, rendered_goals=all_visible(rendered))
    stored, batch = sampled(episodes=episodes, goal_render_every=every)
    episode, step = numbers(batch.actor.state)
    _, goal_step = numbers(batch.actor.goal)
    goal_step = np.abs(goal_step)
    own = episode == 0
    assert (goal_step[own] == 0).all()
    assert (goal_step[~own] > step[~own]).all()
    assert stored.goal_steps[episode[~own], goal_step[~own]].all()
    if every:
        assert (goal_step % every == 0).all()
        assert (batch.actor.goal.values[~own][..., STEP] < 0).all()
    else:
        assert (goal_step < STEPS).all(), "the paper never takes the very last step"


def test_rewards_are_of_the_objects_at_both_steps_and_of_goals_only_what_was_seen():
    stored, batch = sampled()
    episode, step = numbers(batch.actor.state)
    _, goal_step = numbers(batch.actor.goal)
    states = stored.objects.states.map(lambda array: array[episode, step + 1])
    goals = stored.objects.states.map(lambda array: array[episode, goal_step].copy())
    goals.visible[goal_step == 6, 0, 1] = False
    own = episode == 0
    for array, theirs in zip(goals, stored.objects.goal, strict=True):
        array[own] = theirs[0]
    assert (goal_step == 6).any()
    np.testing.assert_array_equal(batch.reward.numpy(), REWARD.total(states, goals))
    assert np.isfinite(batch.reward.numpy()).all()

    # The buffer is not written to
    again = watched_episodes()
    np.testing.assert_array_equal(stored.objects.goal.values, again.objects.goal.values)


def test_values_per_goal_object_can_be_learned_from_it():
    _, batch = sampled(per_object=True, potential_baseline=True)
    assert batch.reward.shape == batch.present.shape == batch.potential.next.shape == (600, 3)
    assert batch.present[:, :2].sum() > 1000
    assert not batch.present[:, 2].any()


def test_particles_of_the_arm_are_in_no_goal_of_hindsight_but_in_states():
    def keep(entities):
        kept = entities.visible & (entities.values[..., 0] >= 0)
        return Entities(entities.values * kept[..., None], kept)

    stored, batch = sampled(replace(WHOLE_SETS, keep=keep))
    episode, _ = numbers(batch.actor.state)
    relabeled = episode != 0
    goals = batch.actor.goal.map(lambda tensor: tensor[relabeled].numpy())
    assert (goals.values[..., 0] >= 0).all()
    assert not goals.values[~goals.visible].any()
    assert not goals.visible.all()
    assert (batch.actor.state.values[..., 0] < 0).any()
    assert batch.actor.state.visible.all()
    assert stored.actor.states.visible.all()


def test_every_allowed_later_step_is_equally_likely(rng):
    allowed = np.array([0, 1, 0, 1, 1, 0, 1], bool)
    step = np.full(30_000, 1)
    drawn = future_allowed(step, np.broadcast_to(allowed, (len(step), 7)), rng)
    shares = np.bincount(drawn, minlength=7) / len(step)
    np.testing.assert_allclose(shares, [0, 0, 0, 1 / 3, 1 / 3, 0, 1 / 3], atol=0.02)
    rows = np.stack((allowed, np.zeros(7, bool), np.arange(7) == 4))
    np.testing.assert_array_equal(last_allowed(rows), [6, 0, 4])
