"""Many copies at once: determinism, autoreset, saving, stored episodes, failures."""

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
    """Everything an episode gives, under fixed actions that differ from copy to copy."""
    observation, _ = env.reset(seed=seed)
    seen = [observation]
    rewards = []
    for step in range(steps):
        actions = np.stack(
            [np.random.default_rng((step, copy)).uniform(-1, 1, 3) for copy in range(env.num_envs)]
        )
        observation, reward, *_ = env.step(actions)
        seen.append(observation)
        rewards.append(reward)
    return seen, np.stack(rewards)


def assert_same(one, two):
    for left, right in zip(one[0], two[0], strict=True):
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("name", TASKS)
def test_same_seed_same_actions_same_bits_for_any_number_of_threads(name, make_env):
    options = {"obs_type": "both", "image_size": 32}
    runs = [run(make_env(3, name, threads=threads, **options)) for threads in (1, 2, 3)]
    assert_same(runs[0], runs[1])
    assert_same(runs[0], runs[2])


@pytest.mark.parametrize(
    "options", [{}, {"variation": VARIED, "colors": "random", "objects": (1, 3)}]
)
def test_a_copy_of_sixteen_equals_a_single_environment_with_its_seed(options, make_env):
    options = {"obs_type": "both", "image_size": 32, **options}
    seen, rewards = run(make_env(16, "NCubes", **options))
    for copy in (0, 5, 15):
        single = TabletopEnv("NCubes", **options)
        observation, _ = single.reset(seed=7 + copy)
        for step, expected in enumerate(seen):
            for name, values in expected.items():
                np.testing.assert_array_equal(observation[name], values[copy], err_msg=name)
            if step < len(rewards):
                action = np.random.default_rng((step, copy)).uniform(-1, 1, 3)
                observation, reward, *_ = single.step(action)
                assert reward == rewards[step, copy]
        single.close()


def test_different_seeds_and_copies_differ(make_env):
    observation, _ = make_env(4).reset(seed=0)
    assert len(np.unique(observation["desired_goal"].reshape(4, -1), axis=0)) == 4


def test_make_vec_returns_the_native_environment():
    env = gym.make_vec("jostle/ThreeCubes-v0", num_envs=4)
    assert isinstance(env, TabletopVectorEnv)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    env.close()


def test_next_step_autoreset_ignores_the_action_and_starts_anew(make_env):
    env = make_env(2, "OneCube", max_episode_steps=3)
    first, _ = env.reset(seed=0)
    for _ in range(2):
        assert not env.step(np.ones((2, 3)))[3].any()
    last, _, _, truncated, _ = env.step(np.ones((2, 3)))
    assert truncated.all()
    fresh, reward, _, truncated, _ = env.step(np.ones((2, 3)))
    assert not truncated.any()
    assert (reward == 0).all()
    assert (fresh["desired_goal"] != last["desired_goal"]).any()
    np.testing.assert_allclose(fresh["observation"][:, 0], first["observation"][:, 0], atol=1e-6)


def test_disabled_autoreset_resets_just_the_masked_copies(make_env):
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
def test_saved_environments_go_on_bit_by_bit(name, make_env, rng):
    options = {"obs_type": "both", "image_size": 32, "max_episode_steps": 9}
    env = make_env(4, name, **options)
    env.reset(seed=2)
    for _ in range(4):
        env.step(rng.uniform(-1, 1, (4, 3)))
    state = env.get_state()
    actions = rng.uniform(-1, 1, (10, 4, 3))  # long enough to pass an autoreset
    there = [env.step(action) for action in actions]
    for other in (env, make_env(4, name, threads=1, **options)):
        other.reset(seed=99)
        other.set_state(state)
        for expected, action in zip(there, actions, strict=True):
            found = other.step(action)
            for key in expected[0]:
                np.testing.assert_array_equal(found[0][key], expected[0][key], err_msg=key)
            for left, right in zip(found[1:4], expected[1:4], strict=True):
                np.testing.assert_array_equal(left, right)


def test_stored_episodes_can_be_played_again(make_env):
    options = {"variation": (*VARIED, Color(OneOf("red", "pink"))), "obs_type": "both"}
    env = make_env(3, "ThreeCubes", image_size=32, **options)
    first, _ = env.reset(seed=11)
    stored = [episode.to_json() for episode in env.episodes]
    env.reset(seed=50)
    again, _ = env.reset(options={"episode": stored[::-1]})
    for name, values in first.items():
        np.testing.assert_array_equal(again[name], values[::-1], err_msg=name)


def test_episodes_of_another_layout_are_refused(make_env):
    two, three = make_env(1, "TwoCubes"), make_env(1, "ThreeCubes")
    two.reset(seed=0)
    with pytest.raises(BadValueError, match="does not fit"):
        three.reset(options={"episode": two.episodes[0]})
    with pytest.raises(UnknownNameError, match="episode"):
        three.reset(options={"episodes": two.episodes})
    with pytest.raises(BadValueError, match="2 episodes"):
        three.reset(options={"episode": two.episodes * 2})


def test_a_diverging_copy_is_reported_and_reset_and_the_others_go_on(make_env):
    env, calm = make_env(3, "OneCube"), make_env(3, "OneCube")
    env.reset(seed=0)
    calm.reset(seed=0)
    env._physics._qvel[1, -3:] = 1e12
    with pytest.warns(DivergedWarning, match="copy 1"):
        observation, reward, _, truncated, infos = env.step(np.zeros((3, 3)))
    expected = calm.step(np.zeros((3, 3)))[0]
    assert truncated.tolist() == [False, True, False]
    assert infos["diverged"].tolist() == [False, True, False]
    assert np.isfinite(reward).all()
    assert all(np.isfinite(values).all() for values in observation.values())
    np.testing.assert_array_equal(
        observation["observation"][[0, 2]], expected["observation"][[0, 2]]
    )
    observation, _, _, truncated, _ = env.step(np.zeros((3, 3)))
    assert not truncated.any()


def test_wrong_states_and_masks_are_refused(make_env):
    env = make_env(2, "OneCube")
    env.reset(seed=0)
    other = make_env(3, "OneCube")
    other.reset(seed=0)
    with pytest.raises(BadValueError, match="3 copies"):
        env.set_state(other.get_state())
    with pytest.raises(BadValueError, match="reset_mask"):
        env.reset(options={"reset_mask": [1, 0]})
    with pytest.raises(BadValueError, match="seed"):
        env.reset(seed=[1, 2, 3])


def test_shapes_and_sizes_of_every_kind_share_one_batch(make_env):
    kinds = OneOf(*SHAPES)
    env = make_env(
        12, "ThreeCubes", variation=(Shape(kinds), Size(Uniform(0.8, 1.3), OneOf(1, 1.2)))
    )
    for seed in range(3):
        env.reset(seed=seed)
        shapes = {one.shape for episode in env.episodes for one in episode.scene.objects}
        assert shapes == set(SHAPES)
        for _ in range(3):
            observation, *_ = env.step(np.zeros((12, 3), np.float32))
        assert np.isfinite(observation["observation"]).all()
