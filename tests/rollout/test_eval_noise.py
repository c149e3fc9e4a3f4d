"""Evaluation noise: the same for every episode, none for teachers, never beyond the limits."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.rollout.eval_noise import EvalNoise  # noqa: E402
from jostle.zoo.agents import load_policy, load_teacher  # noqa: E402

AGENT = "one-cube-state-dagger"


def test_an_episode_gets_the_same_noise_however_many_run_at_once():
    def noise(num_envs: int, resets: int) -> np.ndarray:
        """Noise of the first episodes, (episodes, steps, A)."""
        eval_noise, episodes = EvalNoise(0.1), []
        for _ in range(resets):
            eval_noise.reset()
            episodes.append([eval_noise(np.zeros((num_envs, 3), np.float32)) for _ in range(5)])
        return np.concatenate(np.moveaxis(episodes, 1, 2))

    np.testing.assert_array_equal(noise(6, 1), noise(2, 3))
    assert len(np.unique(noise(6, 1).reshape(-1, 3), axis=0)) == 30


def test_noise_has_its_standard_deviation_and_stays_within_the_limits_of_actions():
    eval_noise = EvalNoise(0.05)
    noise = np.concatenate([eval_noise(np.zeros((1, 3), np.float32)) for _ in range(2000)])
    assert noise.std() == pytest.approx(0.05, rel=0.05)
    assert abs(noise.mean()) < 0.003
    assert EvalNoise(5.0)(np.zeros((1, 3), np.float32)).max() <= 1.0
    actions = np.full((2, 3), 0.3, np.float32)
    assert EvalNoise(0.0)(actions) is actions


def test_an_agent_with_noise_acts_alike_however_many_episodes_run_beside(make_env):
    def actions(num_envs: int) -> list[np.ndarray]:
        env = make_env(num_envs, "OneCube", autoreset_mode="Disabled", threads=1)
        observation, _ = env.reset(seed=[*range(num_envs)])
        policy = load_policy(AGENT, env, 0.05)
        return [policy.act(observation)[:2] for _ in range(4)]

    np.testing.assert_allclose(actions(6), actions(2), atol=1e-5)


def test_a_teacher_acts_without_noise(make_env):
    env = make_env(3, "OneCube", autoreset_mode="Disabled", threads=1)
    observation, _ = env.reset(seed=0)
    labels = load_teacher(AGENT, env).act(observation)
    noisy = load_policy(AGENT, env, 0.3).act(observation)
    np.testing.assert_array_equal(labels, load_teacher(AGENT, env).act(observation))
    np.testing.assert_array_equal(labels, load_policy(AGENT, env, 0.0).act(observation))
    assert np.abs(labels - noisy).max() > 0.01
