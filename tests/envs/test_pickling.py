"""Pickled environments continue bit-for-bit, and dropped ones free their resources."""

import gc
import pickle
import weakref
from functools import partial

import cloudpickle
import gymnasium as gym
import numpy as np
import pytest

from jostle.envs.tabletop import TabletopEnv
from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.render import Renderer
from jostle.tasks.variations import Mass, OneOf, Shape, Table, Uniform

VARIATION = (Shape(OneOf("cube", "star")), Mass(Uniform(0.5, 2)), Table(x=Uniform(0.4, 0.5)))
CASES = {
    "state": {},
    "both": {"obs_type": "both", "image_size": 32},
    "pixels": {"obs_type": "pixels", "image_size": 32, "cameras": ("side",)},
    "range": {"objects": (1, 3)},
    "variation": {"objects": (1, 3), "variation": VARIATION, "colors": "random"},
}


def assert_same(actual, expected):
    """Compare nested results of reset or step bit by bit."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for name in expected:
            assert_same(actual[name], expected[name])
    elif isinstance(expected, tuple):
        for left, right in zip(actual, expected, strict=True):
            assert_same(left, right)
    else:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("case", CASES)
def test_a_pickled_vector_environment_continues_bit_for_bit(case, make_env, rng):
    env = make_env(3, "NCubes", max_episode_steps=7, **CASES[case])
    env.action_space.seed(5)
    env.reset(seed=1)
    for _ in range(4):
        env.step(rng.uniform(-1, 1, (3, 3)))
    restored = pickle.loads(pickle.dumps(env))
    assert restored.options == env.options
    assert restored.elapsed.tolist() == [4, 4, 4]
    for _ in range(9):  # long enough to pass an autoreset
        action = env.action_space.sample()
        assert_same(restored.action_space.sample(), action)
        assert_same(restored.step(action), env.step(action))
    assert_same(restored.reset(), env.reset())
    restored.close()


@pytest.mark.parametrize("case", CASES)
def test_a_pickled_environment_continues_bit_for_bit(case, rng):
    env = gym.make("jostle/NCubes-v0", render_mode="rgb_array", render_size=32, **CASES[case])
    env.reset(seed=1)
    for _ in range(4):
        env.step(rng.uniform(-1, 1, 3).astype(np.float32))
    restored = pickle.loads(pickle.dumps(env))
    for _ in range(3):
        action = rng.uniform(-1, 1, 3).astype(np.float32)
        assert_same(restored.step(action), env.step(action))
    assert_same(restored.render(), env.render())
    assert restored.unwrapped.np_random is restored.unwrapped.vector.rng(0)
    assert_same(restored.reset(), env.reset())
    restored.close()
    env.close()


def test_the_fraction_of_fewer_objects_and_environments_before_reset_are_pickled(make_env):
    env = make_env(8, "NCubes", objects=(1, 4))
    env.set_fewer_fraction(0.5)
    restored = pickle.loads(pickle.dumps(env))
    assert restored.episode_sampler == env.episode_sampler
    assert_same(restored.reset(), env.reset())


def test_a_pickle_is_independent_of_the_environment_it_was_made_of(make_env):
    env = make_env(2, "OneCube")
    env.reset(seed=0)
    saved = pickle.dumps(env)
    before = env.get_state()
    restored = pickle.loads(saved)
    restored.step(np.ones((2, 3)))
    assert_same(env.get_state()["states"], before["states"])
    env.step(np.ones((2, 3)))
    assert_same(pickle.loads(saved).get_state()["states"], before["states"])


def _return(env):
    return env


def test_pickled_environments_run_in_the_processes_of_gymnasium():
    """SubprocVecEnv of Stable-Baselines3 sends its factories the same way."""
    envs = [TabletopEnv("OneCube", threads=1) for _ in range(2)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    factories = [partial(_return, env) for env in envs]
    vector = gym.vector.AsyncVectorEnv(factories, context="spawn")
    try:
        vector.reset(seed=3)
        observation = vector.step(np.full((2, 3), 0.5, np.float32))[0]
    finally:
        vector.close()
    for index, factory in enumerate(factories):
        env = cloudpickle.loads(cloudpickle.dumps(factory))()
        env.reset(seed=3 + index)
        single = env.step(np.full(3, 0.5, np.float32))[0]
        for name, values in single.items():
            np.testing.assert_array_equal(observation[name][index], values)


def test_close_can_be_called_twice_and_images_open_the_renderers_again(make_env):
    env = make_env(1, "OneCube", obs_type="pixels", image_size=32)
    first, _ = env.reset(seed=0)
    env.close()
    env.close()
    again, _ = env.reset(seed=0)
    assert_same(again, first)
    env.close()
    assert env._renderer._pools == {}
    single = TabletopEnv("OneCube", obs_type="pixels", image_size=32)
    single.reset(seed=0)
    single.close()
    single.close()


@pytest.mark.parametrize("make", [TabletopEnv, partial(TabletopVectorEnv, 2)])
def test_a_dropped_environment_is_collected_and_frees_its_renderers(make, monkeypatch):
    opened, freed = [], []
    init, close = Renderer.__init__, Renderer.close
    monkeypatch.setattr(
        Renderer, "__init__", lambda self, *a: (opened.append(1), init(self, *a))[1]
    )
    monkeypatch.setattr(Renderer, "close", lambda self: (freed.append(1), close(self))[1])
    env = make("OneCube", obs_type="pixels", image_size=32, threads=2)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    alive = weakref.ref(env)
    del env
    gc.collect()
    assert alive() is None
    assert len(freed) == len(opened) > 0
