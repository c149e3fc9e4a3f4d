"""Prioritized sampling: large errors come up more often, and everything comes up."""

import numpy as np
import pytest

pytest.importorskip("torch")

from jostle.core.entities import Entities
from jostle.replay.buffer import EpisodeBuffer
from jostle.replay.episodes import Episodes, Trajectory
from jostle.replay.prioritized import PrioritizedSampler

COUNT, STEPS = 3, 4


def buffer_of(errors) -> EpisodeBuffer:
    """A buffer of episodes with these imitation errors (E, T)."""
    states = np.zeros((COUNT, STEPS + 1, 1, 2, 3), np.float32)
    goals = np.zeros((COUNT, 1, 1, 3), np.float32)
    buffer = EpisodeBuffer(5)
    buffer.add(
        Episodes(
            actor=Trajectory(
                Entities(states, np.ones(states.shape[:-1], bool)),
                Entities(goals, np.ones(goals.shape[:-1], bool)),
            ),
            achieved=np.zeros((COUNT, STEPS + 1, 1, 2), np.float32),
            desired=np.zeros((COUNT, 1, 2), np.float32),
            actions=np.zeros((COUNT, STEPS, 3), np.float32),
            imitation_error=np.asarray(errors, np.float32),
        )
    )
    return buffer


def frequencies(sampler: PrioritizedSampler, size: int = 40_000) -> np.ndarray:
    """How often each step is sampled, (E, T), as a fraction."""
    counts = np.zeros((COUNT, STEPS))
    np.add.at(counts, sampler.sample(size), 1)
    return counts / size


def test_steps_come_up_in_proportion_to_their_errors():
    errors = np.arange(COUNT * STEPS).reshape(COUNT, STEPS)
    sampler = PrioritizedSampler(buffer_of(errors), 1.0, np.random.default_rng(0))
    sampler.refresh()
    np.testing.assert_allclose(frequencies(sampler), errors / errors.sum(), atol=0.01)


def test_the_rest_of_the_samples_is_uniform():
    errors = np.zeros((COUNT, STEPS))
    errors[1, 2] = 0.7
    sampler = PrioritizedSampler(buffer_of(errors), 0.25, np.random.default_rng(0))
    sampler.refresh()
    expected = np.full((COUNT, STEPS), 0.75 / (COUNT * STEPS))
    expected[1, 2] += 0.25
    np.testing.assert_allclose(frequencies(sampler), expected, atol=0.01)


def test_without_any_error_all_steps_are_sampled_uniformly():
    buffer = buffer_of(np.zeros((COUNT, STEPS)))
    sampler = PrioritizedSampler(buffer, 1.0, np.random.default_rng(0))
    sampler.refresh()
    np.testing.assert_allclose(frequencies(sampler), 1 / (COUNT * STEPS), atol=0.01)


def test_updated_priorities_count_from_the_next_refresh_and_are_saved_with_the_buffer():
    buffer = buffer_of(np.ones((COUNT, STEPS)))
    sampler = PrioritizedSampler(buffer, 1.0, np.random.default_rng(0))
    sampler.refresh()
    every_step = np.indices((COUNT, STEPS)).reshape(2, -1)
    sampler.update_priorities(*every_step, np.zeros(COUNT * STEPS, np.float32))
    sampler.update_priorities(np.array([2]), np.array([1]), np.array([0.5], np.float32))
    np.testing.assert_allclose(frequencies(sampler), 1 / (COUNT * STEPS), atol=0.01)
    sampler.refresh()
    episode, step = sampler.sample(50)
    assert set(zip(episode.tolist(), step.tolist(), strict=True)) == {(2, 1)}
    restored = EpisodeBuffer(5)
    restored.load_state_dict(*buffer.state_dict())
    np.testing.assert_array_equal(restored.view().imitation_error, buffer.view().imitation_error)
