"""Rehearsal: what went wrong comes up more often, and everything comes up."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from jostle.replay.rehearsal import Rehearsal
from jostle.replay.ring import EpisodeRing, Episodes

COUNT, STEPS = 3, 4


def memory(mistakes) -> EpisodeRing:
    ring = EpisodeRing(5)
    states = np.zeros((COUNT, STEPS + 1, 1, 2, 3), np.float32)
    goals = np.zeros((COUNT, 1, 1, 3), np.float32)
    held = Episodes(
        states, np.ones(states.shape[:-1], bool), goals, np.ones(goals.shape[:-1], bool),
        np.zeros((COUNT, STEPS + 1, 1, 2), np.float32), np.zeros((COUNT, 1, 2), np.float32),
        np.zeros((COUNT, STEPS, 3), np.float32),
    )  # fmt: skip
    ring.add(replace(held, mistakes=np.asarray(mistakes, np.float32)))
    return ring


def drawn(rehearsal: Rehearsal, size: int = 40_000) -> np.ndarray:
    """How often each moment comes up, (E, T), as a share."""
    counts = np.zeros((COUNT, STEPS))
    np.add.at(counts, rehearsal.draw(size), 1)
    return counts / size


def test_moments_come_up_in_proportion_to_mistakes():
    mistakes = np.arange(COUNT * STEPS).reshape(COUNT, STEPS)
    rehearsal = Rehearsal(memory(mistakes), 1.0, np.random.default_rng(0))
    rehearsal.begin()
    np.testing.assert_allclose(drawn(rehearsal), mistakes / mistakes.sum(), atol=0.01)


def test_a_share_of_the_moments_is_drawn_all_alike():
    mistakes = np.zeros((COUNT, STEPS))
    mistakes[1, 2] = 0.7
    rehearsal = Rehearsal(memory(mistakes), 0.25, np.random.default_rng(0))
    rehearsal.begin()
    expected = np.full((COUNT, STEPS), 0.75 / (COUNT * STEPS))
    expected[1, 2] += 0.25
    np.testing.assert_allclose(drawn(rehearsal), expected, atol=0.01)


def test_a_student_without_mistakes_rehearses_everything_alike():
    rehearsal = Rehearsal(memory(np.zeros((COUNT, STEPS))), 1.0, np.random.default_rng(0))
    rehearsal.begin()
    np.testing.assert_allclose(drawn(rehearsal), 1 / (COUNT * STEPS), atol=0.01)


def test_what_is_noted_counts_from_the_next_look_on_and_is_kept_by_memory():
    ring = memory(np.ones((COUNT, STEPS)))
    rehearsal = Rehearsal(ring, 1.0, np.random.default_rng(0))
    everything = np.indices((COUNT, STEPS)).reshape(2, -1)
    rehearsal.note(*everything, np.zeros(COUNT * STEPS, np.float32))
    rehearsal.note(np.array([2]), np.array([1]), np.array([0.5], np.float32))
    rehearsal.begin()
    episode, step = rehearsal.draw(50)
    assert set(zip(episode.tolist(), step.tolist(), strict=True)) == {(2, 1)}
    other = EpisodeRing(5)
    other.restore(*ring.export())
    np.testing.assert_array_equal(other.view().mistakes, ring.view().mistakes)
