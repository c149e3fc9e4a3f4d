"""The adapter for Stable-Baselines3 behaves as its own vector of single environments."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest

import jostle  # noqa: F401 - registers the ids
from jostle.core.errors import BadValueError

sb3 = pytest.importorskip("stable_baselines3", reason="needs pip install 'jostle[sb3]'")

from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import (  # noqa: E402
    DummyVecEnv,
    SubprocVecEnv,
    VecMonitor,
)

from jostle.envs.sb3 import JostleVecEnv, as_sb3_vec_env  # noqa: E402

HORIZON = 4


def native(count: int = 3, task: str = "OneCube", **options) -> JostleVecEnv:
    options = {"max_episode_steps": HORIZON, "threads": 1, **options}
    return as_sb3_vec_env(gym.make_vec(f"jostle/{task}-v0", num_envs=count, **options))


def single(task: str = "OneCube", **options) -> gym.Env:
    options = {"max_episode_steps": HORIZON, "threads": 1, **options}
    return gym.make(f"jostle/{task}-v0", **options)


def assert_same(actual, expected):
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for name in expected:
            assert_same(actual[name], expected[name])
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected)
        for left, right in zip(actual, expected, strict=True):
            assert_same(left, right)
    else:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    "options",
    [{}, {"task": "PushT", "objects": 2}, {"obs_type": "both", "image_size": 36}],
    ids=["state", "headings", "images"],
)
def test_it_steps_resets_and_informs_like_single_environments(options, rng):
    vector, singles = native(**options), DummyVecEnv([partial(single, **options)] * 3)
    assert vector.observation_space == singles.observation_space
    assert vector.action_space == singles.action_space
    assert vector.seed(7) == singles.seed(7) == [7, 8, 9]
    assert_same(vector.reset(), singles.reset())
    assert_same(vector.reset_infos, singles.reset_infos)
    for step in range(1, 2 * HORIZON + 2):
        action = rng.uniform(-1, 1, (3, 3)).astype(np.float32)
        actual, expected = vector.step(action), singles.step(action)
        assert_same(actual, expected)
        assert_same(vector.reset_infos, singles.reset_infos)
        assert actual[1].dtype == np.float32
        assert actual[2].all() == actual[2].any() == (step % HORIZON == 0)
    singles.close()


def test_a_truncated_episode_ends_with_its_last_observation_and_starts_anew():
    vector = native(2)
    vector.seed(0)
    vector.reset()
    vector.env.elapsed[1] = 2  # its episode ends two steps before the other one
    before = vector.step(np.ones((2, 3), np.float32))
    observation, _, done, infos = vector.step(np.ones((2, 3), np.float32))
    assert done.tolist() == [False, True]
    assert [info["TimeLimit.truncated"] for info in infos] == [False, True]
    assert "terminal_observation" not in infos[0]
    last = infos[1]["terminal_observation"]
    np.testing.assert_array_equal(last["desired_goal"], before[0]["desired_goal"][1])
    assert (observation["desired_goal"][1] != last["desired_goal"]).any()
    assert vector.env.elapsed.tolist() == [2, 0]
    assert vector.step(np.ones((2, 3), np.float32))[2].tolist() == [False, False]


def test_seeds_hold_for_one_reset_and_stored_episodes_can_be_started():
    vector = native(2)
    vector.seed(3)
    first = vector.reset()
    episodes = vector.get_attr("episode")
    assert (vector.reset()["desired_goal"] != first["desired_goal"]).any()
    vector.seed(3)
    assert_same(vector.reset(), first)
    vector.reset()
    vector.set_options([{"episode": episode} for episode in episodes])
    assert_same(vector.reset(), first)
    vector.set_options([{"episode": episodes[0]}, {}])
    with pytest.raises(BadValueError, match="every environment or for none"):
        vector.reset()


def test_attributes_and_methods_of_single_environments():
    vector = native(3, "NCubes", objects=(1, 4), render_mode="rgb_array", render_size=32)
    observation = vector.reset()
    assert vector.get_attr("render_mode") == ["rgb_array"] * 3
    assert vector.get_attr("max_episode_steps", indices=[0, 2]) == [HORIZON] * 2
    assert vector.get_attr("observation_space", indices=1) == [vector.observation_space]
    assert not vector.has_attr("no_such_attribute")
    vector.set_attr("max_episode_steps", 9)
    assert vector.get_attr("max_episode_steps") == [9] * 3
    with pytest.raises(BadValueError, match="shared by all 3"):
        vector.set_attr("max_episode_steps", 5, indices=[1])

    # Methods: results of one environment, of all of them, and changes of all of them
    goals = observation["achieved_goal"], observation["desired_goal"]
    rewards = vector.env_method("compute_reward", *goals, [{}] * 3, indices=[0])
    assert [reward.shape for reward in rewards] == [(3,)]
    images = vector.env_method("render", indices=[1, 2])
    assert [image.shape for image in images] == [(32, 64, 3)] * 2
    np.testing.assert_array_equal(images[1], vector.get_images()[2])
    assert vector.render().shape == (64, 128, 3)
    assert vector.env_method("num_fallen", indices=2) == [0]
    vector.env_method("set_fewer_fraction", 0.5)
    assert vector.env.episode_sampler.fewer_fraction == 0.5
    with pytest.raises(BadValueError, match="shared by all 3"):
        vector.env_method("set_fewer_fraction", 0.2, indices=[0])
    with pytest.raises(BadValueError, match="on the vector itself"):
        vector.env_method("reset")
    assert vector.env_is_wrapped(Monitor, indices=[0, 1]) == [False, False]


def test_only_the_native_vector_is_adapted():
    with pytest.raises(BadValueError, match="not a SyncVectorEnv"):
        as_sb3_vec_env(gym.vector.SyncVectorEnv([single]))


@pytest.mark.parametrize("algorithm", ["TD3", "SAC"])
def test_hindsight_of_stable_baselines3_relabels_with_our_reward(algorithm):
    vector = VecMonitor(native(2))
    agent = getattr(sb3, algorithm)(
        "MultiInputPolicy",
        vector,
        replay_buffer_class=sb3.HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        policy_kwargs={"net_arch": [16]},
        learning_starts=20,
        batch_size=16,
        train_freq=(2, "step"),
        seed=0,
    )
    agent.learn(40)
    assert agent.num_timesteps == 40
    assert agent._n_updates > 0
    assert {info["l"] for info in agent.ep_info_buffer} == {HORIZON}
    assert len(agent.ep_success_buffer) == 40 // HORIZON

    # Every sample has the reward of its own goal, relabeled or not, and no end to bootstrap over
    sample = agent.replay_buffer.sample(64)
    after = {key: value.numpy() for key, value in sample.next_observations.items()}
    rewards = vector.env_method(
        "compute_reward", after["achieved_goal"], after["desired_goal"], None, indices=[0]
    )[0]
    np.testing.assert_allclose(sample.rewards.numpy()[:, 0], rewards, atol=1e-6)
    assert (sample.dones.numpy() == 0).all()
    mean, _ = evaluate_policy(agent, vector, n_eval_episodes=2)
    assert np.isfinite(mean)
    assert mean < 0


def test_processes_of_stable_baselines3_run_single_environments():
    factories = [partial(single, threads=1)] * 2
    workers, vector = SubprocVecEnv(factories), native(2)
    try:
        assert workers.seed(5) == vector.seed(5)
        assert_same(workers.reset(), vector.reset())
        for _ in range(HORIZON + 1):  # long enough to pass a reset
            action = np.full((2, 3), 0.5, np.float32)
            assert_same(workers.step(action), vector.step(action))
        assert workers.env_method("compute_reward", np.zeros((1, 2)), np.zeros((1, 2)), {}) == [
            0,
            0,
        ]
    finally:
        workers.close()
