"""Exploration: noise follows its schedule, and moves towards objects start and end."""

import numpy as np
import pytest

from jostle.agents.config import ExploreConfig
from jostle.agents.exploration import ReachExploration, explore


def test_random_actions_follow_their_schedule(rng):
    config = ExploreConfig(
        epsilon=0.4, sigma=0.0, per_env_epsilon=True, decay_from=10, decay_until=20
    )
    assert [config.scale(n) for n in (0, 10, 15, 20, 99)] == [1.0, 1.0, 0.75, 0.5, 0.5]
    zeros = np.zeros((4000, 3), np.float32)
    for episodes, fraction in ((0, 0.4), (99, 0.2)):
        random = (explore(zeros, config, episodes, rng) != 0).any(-1).mean()
        assert random == pytest.approx(fraction, abs=0.03)
    together = explore(zeros, ExploreConfig(sigma=0.0), 0, rng)
    fraction = (together != 0).any(-1).mean()
    assert fraction in (0.0, 1.0), "one draw decides for all environments"


def test_targets_that_are_no_longer_available_are_dropped():
    config, rng = ExploreConfig(reach_prob=1.0, reach_steps=1e9), np.random.default_rng(0)
    reaching = ReachExploration(50)
    assert reaching.step(config, np.ones((50, 2), bool), rng).all()
    assert not reaching.step(config, np.zeros((50, 2), bool), rng).any()
    assert reaching.step(config, np.tile([False, True], (50, 1)), rng).all()
    assert (reaching.target == 1).all()


def test_targets_are_available_objects_and_moves_end():
    config, rng = ExploreConfig(reach_prob=0.3, reach_steps=4.0), np.random.default_rng(0)
    available = np.tile([True, False, True], (500, 1))
    reaching = ReachExploration(500)
    fractions = [reaching.step(config, available, rng).mean() for _ in range(60)]
    assert set(reaching.target.tolist()) == {-1, 0, 2}
    # Starts with probability 0.3 and lasts 4 steps: about 4 / (4 + 1 / 0.3)
    assert 0.4 < np.mean(fractions[10:]) < 0.7
    reaching.reset()
    assert not reaching.step(ExploreConfig(reach_prob=0.0), available, rng).any()
