"""HER and TD3 of Stable-Baselines3 run on our environments without changes."""

import gymnasium as gym
import numpy as np
import pytest

import jostle  # noqa: F401 - registers the ids

pytestmark = pytest.mark.slow


def test_td3_with_hindsight_runs_two_thousand_steps():
    sb3 = pytest.importorskip("stable_baselines3")
    env = gym.make("jostle/OneCube-v0")
    agent = sb3.TD3(
        "MultiInputPolicy",
        env,
        replay_buffer_class=sb3.HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        learning_starts=200,
        seed=0,
    )
    agent.learn(2000)
    assert agent.num_timesteps == 2000
    observation, _ = env.reset(seed=1)
    action, _ = agent.predict(observation, deterministic=True)
    assert action.shape == (3,)
    assert np.isfinite(action).all()
