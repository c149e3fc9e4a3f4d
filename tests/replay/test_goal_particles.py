"""Rewards of goal particles are those of the objects that they lie on, at the goal's own step."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numbered_episodes import (  # noqa: E402
    EPISODE,
    OBJECTS,
    REWARD,
    STEP,
    STEPS,
    all_visible,
    make_sampler,
    numbered_episodes,
)

from jostle.core.entities import Entities  # noqa: E402
from jostle.core.protocols import GoalSpec  # noqa: E402
from jostle.replay.buffer import EpisodeBuffer  # noqa: E402
from jostle.replay.episodes import Episodes, Trajectory  # noqa: E402
from jostle.replay.transition_rewards import per_particle  # noqa: E402

VIEWS, PARTICLES = 2, 4
EVERY = np.ones(6, np.float32)
GOAL_SPEC = GoalSpec(0, EVERY, EVERY, whole_sets=True)


def episodes_of_particles(count: int, every: int) -> Episodes:
    """Episodes whose particles hold their episode, step and tie; random ties differ by step."""
    rng = np.random.default_rng(0)
    plain = numbered_episodes(count)
    ties = rng.integers(-1, OBJECTS, (count, 1 + STEPS + 1, VIEWS, PARTICLES)).astype(np.int8)
    values = np.zeros((*ties.shape, 6), np.float32)
    values[..., EPISODE] = np.arange(count)[:, None, None, None]
    values[..., STEP] = np.arange(-1, STEPS + 1)[None, :, None, None]  # -1: the episode's own goal
    values[..., 0] = ties
    goal, states = all_visible(values[:, 0]), all_visible(values[:, 1:])
    later = slice(1 + every, None, every) if every else slice(1, None)
    return replace(
        plain,
        actor=Trajectory(states, goal),
        rendered_goals=all_visible(values[:, later]) if every else None,
        goal_ties=ties[:, 0],
        hindsight_ties=ties[:, later],
    )


def sample(every: int, **options):
    episodes, buffer = episodes_of_particles(5, every), EpisodeBuffer(5)
    buffer.add(episodes)
    sampler = make_sampler(
        buffer, GOAL_SPEC, per_object=True, potential_baseline=True, goal_render_every=every,
        **options,
    )  # fmt: skip
    return episodes, sampler.sample(300)


@pytest.mark.parametrize("every", [0, 3])
@pytest.mark.parametrize("her_ratio", [0.0, 0.6, 1.0])
def test_a_goal_particle_is_rewarded_for_its_object_at_the_goals_own_step(every, her_ratio):
    episodes, batch = sample(every, her_ratio=her_ratio)
    goal = batch.actor.goal.values.flatten(1, 2).numpy()  # (B, V*K, D)
    assert batch.reward.shape == batch.present.shape == (300, VIEWS * PARTICLES)
    state, after = batch.actor.state.values, batch.actor.next_state.values
    hindsight = 0
    for row in range(300):
        episode, step = int(goal[row, 0, EPISODE]), int(goal[row, 0, STEP])
        assert episode == int(state[row, 0, 0, EPISODE])
        desired = episodes.desired[episode] if step < 0 else episodes.achieved[episode, step]
        hindsight += step >= 0
        rewards, _ = REWARD.per_object(
            episodes.achieved[episode, int(after[row, 0, 0, STEP])], desired
        )
        ties = goal[row, :, 0].astype(int)
        expected = np.where(ties < 0, 0, rewards[ties])
        np.testing.assert_allclose(batch.reward[row], expected, rtol=1e-5, atol=1e-7)
        now, _ = REWARD.per_object(episodes.achieved[episode, int(state[row, 0, 0, STEP])], desired)
        expected = np.where(ties < 0, 0, now[ties]) / (1 - 0.9)
        np.testing.assert_allclose(batch.potential.now[row], expected, rtol=1e-4, atol=1e-6)
        counts = [(ties == tie).sum() if tie >= 0 else np.inf for tie in ties]
        np.testing.assert_allclose(batch.present[row], 1 / np.array(counts))
    assert (hindsight > 0) == (her_ratio > 0)


def test_the_weighted_mean_is_the_mean_over_objects_that_have_particles():
    rng = np.random.default_rng(1)
    rewards = -rng.random((50, 3), np.float32)
    ties = rng.integers(-1, 3, (50, VIEWS, PARTICLES)).astype(np.int8)
    values, weights = per_particle(rewards, ties)
    for row in range(50):
        seen = np.unique(ties[row][ties[row] >= 0])
        assert weights[row].sum() == pytest.approx(len(seen), rel=1e-6)
        mean = (values[row] * weights[row]).sum() / len(seen)
        assert mean == pytest.approx(rewards[row, seen].mean(), rel=1e-5)


def test_without_ties_rewards_are_those_of_objects():
    episodes, buffer = numbered_episodes(3), EpisodeBuffer(3)
    buffer.add(episodes)
    assert make_sampler(buffer, per_object=True).sample(8).reward.shape == (8, OBJECTS)


def test_ties_cost_a_byte_per_particle_and_survive_saving():
    episodes = episodes_of_particles(4, 0)
    buffers = [EpisodeBuffer(4), EpisodeBuffer(4), EpisodeBuffer(4)]
    buffers[0].add(episodes)
    buffers[1].add(replace(episodes, goal_ties=None, hindsight_ties=None))
    buffers[2].load_state_dict(*buffers[0].state_dict())
    more = buffers[0].bytes_per_transition - buffers[1].bytes_per_transition
    assert more == pytest.approx(VIEWS * PARTICLES * (STEPS + 2) / STEPS)
    np.testing.assert_array_equal(buffers[2].view().hindsight_ties, episodes.hindsight_ties)
    assert isinstance(buffers[2].view().actor.goal, Entities)
