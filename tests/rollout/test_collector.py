"""The collector can be pickled, and its state is all that it needs to continue."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.rollout.collector import Collector  # noqa: E402
from jostle.rollout.observer import StateObserver  # noqa: E402
from jostle.rollout.smorl import SubgoalObserver  # noqa: E402


def make(make_env, observer=StateObserver, seed=0):
    env = make_env(2, "TwoCubes", autoreset_mode="Disabled", threads=1)
    env.reset(seed=5)
    rng = np.random.default_rng(seed)
    return Collector(env, observer(env.state_reader, 2, rng), steps=3, keep_state_obs=True)


def push(observation, state, goal):
    """An action that depends on what is observed."""
    return np.tanh(observation["observation"][:, 0] + state.values[:, 0, 1, :3]).astype(np.float32)


def assert_equal(one, two):
    assert one.arrays().keys() == two.arrays().keys()
    for name, values in one.arrays().items():
        np.testing.assert_array_equal(values, two.arrays()[name], err_msg=name)


@pytest.mark.parametrize("observer", [StateObserver, SubgoalObserver])
def test_a_pickled_collector_collects_the_same_episodes(make_env, observer):
    collector = make(make_env, observer)
    collector.collect(push)
    copy = pickle.loads(pickle.dumps(collector))
    for _ in range(2):
        assert_equal(copy.collect(push)[0], collector.collect(push)[0])
    copy.env.close()


def test_a_restored_collector_collects_the_same_episodes(make_env):
    collector, other = make(make_env), make(make_env, seed=9)
    collector.collect(push)
    other.load_state_dict(*collector.state_dict())
    assert_equal(other.collect(push)[0], collector.collect(push)[0])
