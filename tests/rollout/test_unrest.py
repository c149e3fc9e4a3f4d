"""Unrest: the same noise for everybody, nothing without it, and never beyond the limits."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.envs.vector import TabletopVectorEnv  # noqa: E402
from jostle.rollout.unrest import Unrest  # noqa: E402
from jostle.zoo.agents import agent_for, teacher_for  # noqa: E402


def test_an_episode_meets_the_same_noise_however_many_are_played_at_once():
    def noise(copies: int, rounds: int) -> np.ndarray:
        """Noise of the first episodes, (episodes, steps, A)."""
        unrest, found = Unrest(0.1), []
        for _ in range(rounds):
            unrest.restart()
            found.append([unrest(np.zeros((copies, 3), np.float32)) for _ in range(5)])
        return np.concatenate(np.moveaxis(found, 1, 2))

    np.testing.assert_array_equal(noise(6, 1), noise(2, 3))
    assert len(np.unique(noise(6, 1).reshape(-1, 3), axis=0)) == 30


def test_noise_has_its_deviation_and_stays_within_the_limits_of_actions():
    unrest = Unrest(0.05)
    noise = np.concatenate([unrest(np.zeros((1, 3), np.float32)) for _ in range(2000)])
    assert noise.std() == pytest.approx(0.05, rel=0.05)
    assert abs(noise.mean()) < 0.003
    assert Unrest(5.0)(np.zeros((1, 3), np.float32)).max() <= 1.0
    untouched = np.full((2, 3), 0.3, np.float32)
    assert Unrest(0.0)(untouched) is untouched


def test_a_restless_agent_does_the_same_whatever_is_played_beside_it():
    def actions(copies: int) -> list[np.ndarray]:
        env = TabletopVectorEnv(copies, "OneCube", autoreset_mode="Disabled", threads=1)
        observation, _ = env.reset(seed=[*range(copies)])
        policy = agent_for("one-cube-state", env, 0.05)
        return [policy.act(observation)[:2] for _ in range(4)]

    np.testing.assert_allclose(actions(6), actions(2), atol=1e-5)


def test_a_teacher_says_what_it_means():
    env = TabletopVectorEnv(3, "OneCube", autoreset_mode="Disabled", threads=1)
    observation, _ = env.reset(seed=0)
    plain = teacher_for("one-cube-state", env).act(observation)
    loud = agent_for("one-cube-state", env, 0.3).act(observation)
    np.testing.assert_array_equal(plain, teacher_for("one-cube-state", env).act(observation))
    assert np.abs(plain - loud).max() > 0.01
