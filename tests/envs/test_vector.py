"""Vectorized environments: determinism, autoreset, saving, stored episodes, failures."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from jostle.core.errors import BadValueError, DivergedWarning, UnknownNameError
from jostle.envs.tabletop import TabletopEnv
from jostle.envs.vector import TabletopVectorEnv
from jostle.scene.shapes import SHAPES
from jostle.tasks.catalog import TASKS
from jostle.tasks.variations import Color, Mass, OneOf, Shape, Size, Table, Uniform

VARIED = (Shape(OneOf("cube", "star")), Mass(Uniform(0.5, 2)), Table(x=Uniform(0.4, 0.5)))


def run(env: TabletopVectorEnv, steps: int = 6, seed: int = 7):
    """Observations and rewards, under fixed actions that differ between environments."""
    observation, _ = env.reset(seed=seed)
    observations = [observation]
    rewards = []
    for step in range(steps):
        actions = np.stack(
            [
                np.random.default_rng((step, index)).uniform(-1, 1, 3)
                for index in range(env.num_envs)
            ]
        )
        observation, reward, *_ = env.step(actions)
        observations.append(observation)
        rewards.append(reward)
    return observations, np.stack(rewards)


def assert_same(actual, expected):
    for left, right in zip(actual[0], expected[0], strict=True):
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    np.testing.assert_array_equal(actual[1], expected[1])


@pytest.mark.parametrize("name", TASKS)
def test_results_are_deterministic_for_any_number_of_threads(name, make_env):
    options = {"obs_type": "both", "image_size": 32}
    runs = [run(make_env(3, name, threads=threads, **options)) for threads in (1, 2, 3)]
    assert_same(runs[0], runs[1])
    assert_same(runs[0], runs[2])


@pytest.mark.parametrize(
    "options", [{}, {"variation": VARIED, "colors": "random", "objects": (1, 3)}]
)
def test_one_of_sixteen_environments_equals_a_single_one_with_its_seed(options, make_env):
    options = {"obs_type": "both", "image_size": 32, **options}
    observations, rewards = run(make_env(16, "NCubes", **options))
    for index in (0, 5, 15):
        single = TabletopEnv("NCubes", **options)
        observation, _ = single.reset(seed=7 + index)
        for step, expected in enumerate(observations):
            for name, values in expected.items():
                np.testing.assert_array_equal(observation[name], values[index], err_msg=name)
            if step < len(rewards):
                action = np.random.default_rng((step, index)).uniform(-1, 1, 3)
                observation, reward, *_ = single.step(action)
                assert reward == rewards[step, index]
        single.close()


def test_environments_of_one_batch_differ(make_env):
    observation, _ = make_env(4).reset(seed=0)
    assert len(np.unique(observation["desired_goal"].reshape(4, -1), axis=0)) == 4


def test_make_vec_returns_the_native_environment():
    env = gym.make_vec("jostle/ThreeCubes-v0", num_envs=4)
    assert isinstance(env, TabletopVectorEnv)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    env.close()


def test_next_step_autoreset_ignores_the_action_and_starts_a_new_episode(make_env):
    env = make_env(2, "OneCube", max_episode_steps=3)
    first, _ = env.reset(seed=0)
    for _ in range(2):
        assert not env.step(np.ones((2, 3)))[3].any()
    last, _, _, truncated, _ = env.step(np.ones((2, 3)))
    assert truncated.all()
    new, reward, _, truncated, _ = env.step(np.ones((2, 3)))
    assert not truncated.any()
    assert (reward == 0).all()
    assert (new["desired_goal"] != last["desired_goal"]).any()
    np.testing.assert_allclose(new["observation"][:, 0], first["observation"][:, 0], atol=1e-6)


def test_disabled_autoreset_resets_only_the_masked_environments(make_env):
    env = make_env(3, "OneCube", autoreset_mode="Disabled", max_episode_steps=2)
    env.reset(seed=0)
    for _ in range(2):
        before, _, _, truncated, _ = env.step(np.full((3, 3), 0.3))
    assert truncated.all()
    mask = np.array([True, False, True])
    after, _ = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(after["observation"][1], before["observation"][1])
    assert (after["desired_goal"][[0, 2]] != before["desired_goal"][[0, 2]]).any()
    assert env.elapsed.tolist() == [0, 2, 0]


@pytest.mark.parametrize("name", ["ThreeCubes", "PushT", "OrderedPush"])
def test_saved_environments_resume_bit_for_bit(name, make_env, rng):
    options = {"obs_type": "both", "image_size": 32, "max_episode_steps": 9}
    env = make_env(4, name, **options)
    env.reset(seed=2)
    for _ in range(4):
        env.step(rng.uniform(-1, 1, (4, 3)))
    state = env.get_state()
    actions = rng.uniform(-1, 1, (10, 4, 3))  # long enough to pass an autoreset
    steps = [env.step(action) for action in actions]
    for other in (env, make_env(4, name, threads=1, **options)):
        other.reset(seed=99)
        other.set_state(state)
        for expected, action in zip(steps, actions, strict=True):
            actual = other.step(action)
            for key in expected[0]:
                np.testing.assert_array_equal(actual[0][key], expected[0][key], err_msg=key)
            for left, right in zip(actual[1:4], expected[1:4], strict=True):
                np.testing.assert_array_equal(left, right)


def test_stored_episodes_can_be_started_again(make_env):
    options = {"variation": (*VARIED, Color(OneOf("red", "pink"))), "obs_type": "both"}
    env = make_env(3, "ThreeCubes", image_size=32, **options)
    first, _ = env.reset(seed=11)
    stored = [episode.to_json() for episode in env.episodes]
    env.reset(seed=50)
    restarted, _ = env.reset(options={"episode": stored[::-1]})
    for name, values in first.items():
        np.testing.assert_array_equal(restarted[name], values[::-1], err_msg=name)


def test_episodes_of_another_layout_are_refused(make_env):
    other, env = make_env(1, "TwoCubes"), make_env(1, "ThreeCubes")
    other.reset(seed=0)
    with pytest.raises(BadValueError, match="does not fit"):
        env.reset(options={"episode": other.episodes[0]})
    with pytest.raises(UnknownNameError, match="episode"):
        env.reset(options={"episodes": other.episodes})
    with pytest.raises(BadValueError, match="2 episodes"):
        env.reset(options={"episode": other.episodes * 2})


def test_a_diverging_environment_is_reported_and_reset_and_the_others_continue(make_env):
    env, stable = make_env(3, "OneCube"), make_env(3, "OneCube")
    env.reset(seed=0)
    stable.reset(seed=0)
    env._physics._qvel[1, -3:] = 1e12
    with pytest.warns(DivergedWarning, match="environment 1"):
        observation, reward, _, truncated, infos = env.step(np.zeros((3, 3)))
    expected = stable.step(np.zeros((3, 3)))[0]
    assert truncated.tolist() == [False, True, False]
    assert infos["diverged"].tolist() == [False, True, False]
    assert np.isfinite(reward).all()
    assert all(np.isfinite(values).all() for values in observation.values())
    np.testing.assert_array_equal(
        observation["observation"][[0, 2]], expected["observation"][[0, 2]]
    )
    observation, _, _, truncated, _ = env.step(np.zeros((3, 3)))
    assert not truncated.any()


def test_invalid_states_masks_and_seeds_are_refused(make_env):
    env = make_env(2, "OneCube")
    env.reset(seed=0)
    other = make_env(3, "OneCube")
    other.reset(seed=0)
    with pytest.raises(BadValueError, match="3 environments"):
        env.set_state(other.get_state())
    with pytest.raises(BadValueError, match="reset_mask"):
        env.reset(options={"reset_mask": [1, 0]})
    with pytest.raises(BadValueError, match="seed"):
        env.reset(seed=[1, 2, 3])


def test_all_shapes_and_sizes_share_one_batch(make_env):
    any_shape = OneOf(*SHAPES)
    env = make_env(
        12, "ThreeCubes", variation=(Shape(any_shape), Size(Uniform(0.8, 1.3), OneOf(1, 1.2)))
    )
    for seed in range(3):
        env.reset(seed=seed)
        shapes = {obj.shape for episode in env.episodes for obj in episode.scene.objects}
        assert shapes == set(SHAPES)
        for _ in range(3):
            observation, *_ = env.step(np.zeros((12, 3), np.float32))
        assert np.isfinite(observation["observation"]).all()
