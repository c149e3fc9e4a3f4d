"""Moments after which something still happens come up more often, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_replay import STEPS, episodes, sampler  # noqa: E402

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.replay.liveliness import Liveliness  # noqa: E402
from jostle.replay.ring import EpisodeRing  # noqa: E402
from jostle.replay.sampler import HindsightConfig  # noqa: E402


def ring_of(*paths):
    """Memory of episodes whose first object goes along a path (T+1,); the second stays."""
    made = episodes(len(paths))
    achieved = np.zeros_like(made.achieved)
    achieved[:, :, 0, 0] = paths
    ring = EpisodeRing(len(paths))
    ring.add(replace(made, achieved=achieved))
    return ring


STILL = np.zeros(STEPS + 1)
EARLY = np.where(np.arange(STEPS + 1) < 3, 0.0, 0.05)
TWICE = np.where(np.arange(STEPS + 1) < 3, 0.0, np.where(np.arange(STEPS + 1) < 6, 0.04, 0.08))


def test_what_never_moves_is_not_drawn_and_what_has_moved_is_over(rng):
    episode, step = Liveliness(ring_of(STILL, EARLY)).draw(200, STEPS - 1, rng)
    assert (episode == 1).all()
    assert set(step) == {0, 1, 2}


def test_the_farther_it_still_goes_the_more_often_it_is_drawn(rng):
    _, step = Liveliness(ring_of(TWICE)).draw(20_000, STEPS - 1, rng)
    counts = np.bincount(step, minlength=STEPS - 1)
    assert abs(counts[:3].mean() / counts[3:6].mean() - 2) < 0.2
    assert counts[6:].sum() == 0


def test_far_is_far_enough(rng):
    episode, _ = Liveliness(ring_of(4 * EARLY, 400 * EARLY)).draw(20_000, STEPS - 1, rng)
    assert abs(episode.mean() - 0.5) < 0.02


def test_in_a_still_world_all_moments_are_alike(rng):
    episode, step = Liveliness(ring_of(STILL, STILL)).draw(400, STEPS - 1, rng)
    assert set(episode) == {0, 1}
    assert set(step) == set(range(STEPS - 1))


def test_new_episodes_are_taken_notice_of(rng):
    ring = ring_of(EARLY, STILL)
    life = Liveliness(ring)
    assert set(life.draw(50, STEPS - 1, rng)[0]) == {0}
    ring.add(ring_of(STILL, EARLY).view())
    assert set(life.draw(50, STEPS - 1, rng)[0]) == {1}


def test_only_its_share_of_the_relabeled_samples_is_lively():
    ring = ring_of(STILL, STILL, STILL, EARLY)
    batch = sampler(ring, lively=0.5, share=0.5).sample(400)  # 100 lively, 100 others, 200 as asked
    named = batch.state.values[:, 0, 0, 3]
    assert (named[:100] == 3).all()
    assert set(named[100:200].tolist()) == set(named[200:].tolist()) == {0.0, 1.0, 2.0, 3.0}


def test_a_share_above_one_is_refused():
    with pytest.raises(BadValueError, match="lively is a share"):
        HindsightConfig(lively=1.5)
