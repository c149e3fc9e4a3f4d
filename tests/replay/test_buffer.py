"""The replay buffer: nothing is lost, and what does not fit is refused."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numbered_episodes import EPISODE, OBJECTS, make_sampler, numbered_episodes  # noqa: E402

from jostle.replay.buffer import EpisodeBuffer  # noqa: E402


def test_the_buffer_keeps_the_newest_episodes_and_every_slot_is_sampled():
    buffer = EpisodeBuffer(5)
    for seed in range(4):
        buffer.add(numbered_episodes(2, seed))
    stored = buffer.view()
    assert len(stored) == 5
    numbers = set(stored.actor.states.values[:, 0, 0, 0, EPISODE])
    assert numbers == {101.0, 200.0, 201.0, 300.0, 301.0}
    batch = make_sampler(buffer).sample(500)
    assert set(batch.actor.state.values[:, 0, 0, EPISODE].tolist()) == numbers


def test_a_saved_buffer_continues_as_the_original():
    buffer, restored = EpisodeBuffer(5), EpisodeBuffer(5)
    for seed in range(3):
        buffer.add(numbered_episodes(2, seed))
    restored.load_state_dict(*buffer.state_dict())
    for each in (buffer, restored):
        each.add(numbered_episodes(2, 9))
    expected, found = buffer.view().arrays(), restored.view().arrays()
    assert expected.keys() == found.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(values, found[name])
    assert buffer.bytes_per_transition < 400


def test_episodes_of_another_layout_are_refused():
    buffer = EpisodeBuffer(5)
    buffer.add(numbered_episodes(2))
    shorter = numbered_episodes(2)
    with pytest.raises(ValueError, match="one layout"):
        buffer.add(replace(shorter, actions=shorter.actions[:, :3]))


def test_episodes_with_more_or_fewer_arrays_are_refused_and_nothing_is_lost():
    buffer = EpisodeBuffer(5)
    buffer.add(numbered_episodes(2))
    more = replace(numbered_episodes(2, 1), color_ids=np.zeros((2, OBJECTS), np.int64))
    with pytest.raises(ValueError, match=r"Only they have: color_ids.*--from RUN"):
        buffer.add(more)
    assert buffer.size == 2
    other = EpisodeBuffer(5)
    other.add(more)
    with pytest.raises(ValueError, match="Only the buffer has: color_ids"):
        other.add(numbered_episodes(2))


def test_an_empty_buffer_and_one_for_no_episodes_are_refused():
    with pytest.raises(ValueError, match="empty"):
        EpisodeBuffer(3).view()
    with pytest.raises(ValueError, match="at least one episode"):
        EpisodeBuffer(0)
