"""Every id follows Gymnasium's interface and its goal convention."""

import warnings
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import jostle  # noqa: F401 - registers the ids
from jostle.core.errors import BadActionError, BadValueError, UnknownNameError
from jostle.core.goal_metric import METRICS
from jostle.tasks.catalog import TASKS, task_id
from jostle.tasks.variations import Shape


@pytest.mark.parametrize("name", TASKS)
def test_the_environment_checker_of_gymnasium_passes(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = gym.make(task_id(name), obs_type="both", image_size=32, render_mode="rgb_array")
        check_env(env.unwrapped)
        env.close()
    assert [str(warning.message) for warning in caught] == []


RANGES = {name: (task.counts[0], min(task.counts[1], 4)) for name, task in TASKS.items()}
RANGES = {name: span for name, span in RANGES.items() if span[0] < span[1]}


@pytest.mark.parametrize(("name", "objects"), [*((name, None) for name in TASKS), *RANGES.items()])
def test_compute_reward_equals_the_step_reward_exactly(name, objects, make_env, rng):
    env = make_env(6, name, objects=objects)
    env.reset(seed=1)
    for _ in range(4):
        observation, reward, *_ = env.step(rng.uniform(-1, 1, (6, 3)))
        achieved, desired = observation["achieved_goal"], observation["desired_goal"]
        assert achieved.shape == desired.shape
        np.testing.assert_array_equal(env.compute_reward(achieved, desired, {}), reward)
        deep = env.compute_reward(achieved[:, None], desired[None], None)
        assert deep.shape == (6, 6)
        np.testing.assert_array_equal(np.diag(deep), reward)


@pytest.mark.parametrize("name", ["ThreeCubes", "PushT", "Distractors"])
def test_infos_hold_the_five_metrics_and_distances(name, make_env):
    env = make_env(3, name)
    _, infos = env.reset(seed=0)
    rewards = []
    for _ in range(3):
        _, reward, _, _, infos = env.step(np.zeros((3, 3)))
        rewards.append(reward)
    for key in (*METRICS, "distances", "is_success"):
        assert len(infos[key]) == 3
        assert infos[f"_{key}"].all()
    np.testing.assert_allclose(infos["average_return"], np.mean(rewards, axis=0), rtol=1e-6)
    np.testing.assert_allclose(infos["distances"].mean(-1), infos["average_distance"], rtol=1e-5)


def test_observations_hold_gripper_and_objects_and_fallen_ones_stay_bounded(make_env):
    env = make_env(2, "TwoCubes")
    observation, _ = env.reset(seed=0)
    assert observation["observation"].shape == (2, 3, 3)
    np.testing.assert_array_equal(
        observation["observation"][:, 1:, :2], observation["achieved_goal"]
    )
    env._physics.objects[0, 0, :3] = (3.0, -8.0, 0.5)
    observation, reward, *_ = env.step(np.zeros((2, 3)))
    assert env.single_observation_space["observation"].contains(observation["observation"][0])
    assert np.abs(observation["achieved_goal"]).max() < 0.6
    assert np.isfinite(reward).all()
    assert env.num_fallen().tolist() == [1, 0]


def test_a_range_of_objects_pads_rows_and_marks_present_objects(make_env):
    env = make_env(20, "NCubes", objects=(1, 3))
    observation, _ = env.reset(seed=0)
    assert env.state_reader.columns == ("x", "y", "z", "present")
    present = observation["observation"][:, 1:, 3]
    assert set(present.sum(1).tolist()) == {1.0, 2.0, 3.0}
    np.testing.assert_array_equal(present, observation["desired_goal"][..., 2])
    assert (observation["observation"][:, 1:][present == 0] == 0).all()


def test_pixels_come_without_object_coordinates_in_the_observation(make_env):
    env = make_env(1, "ThreeCubes", obs_type="pixels", cameras=("side",), image_size=(48, 64))
    observation, _ = env.reset(seed=0)
    assert observation["observation"].shape == (1, 1, 3)
    assert observation["side"].shape == (1, 48, 64, 3)
    assert "front" not in observation
    assert {"goal_side", "achieved_goal", "desired_goal"} <= set(observation)


def test_render_as_goal_shows_the_current_objects_like_a_goal_image(make_env):
    env = make_env(2, "ThreeCubes", obs_type="both", cameras=("front", "side"), threads=1)
    env.reset(seed=4)
    solved = [replace(episode, start=episode.goal) for episode in env.episodes]
    observation, _ = env.reset(options={"episode": solved})
    before = env.get_state()["states"]
    images = env.render_as_goal()
    assert (env.get_state()["states"] == before).all()
    assert images.keys() == {"front", "side"}
    for name in images:
        goal = observation[f"goal_{name}"].astype(int)
        assert (np.abs(images[name] - goal) > 8).mean() < 1e-3, "cubes settle by less than a pixel"
        assert (np.abs(observation[name] - goal) > 8).mean() > 0.01, "the arm is elsewhere"


def test_the_goal_image_shows_the_goal_and_does_not_disturb_the_simulation(make_env, rng):
    env, state_env = make_env(2, "ThreeCubes", obs_type="both"), make_env(2, "ThreeCubes")
    (first, _), (first_state, _) = env.reset(seed=3), state_env.reset(seed=3)
    for _ in range(5):
        action = rng.uniform(-1, 1, (2, 3))
        observation, state = env.step(action)[0], state_env.step(action)[0]
        np.testing.assert_array_equal(observation["observation"], state["observation"])
        np.testing.assert_array_equal(observation["goal_front"], first["goal_front"])
    np.testing.assert_array_equal(first["observation"], first_state["observation"])
    # In an episode that starts at its goal the image is the goal image, apart from the arm.
    solved = replace(env.episodes[0], start=env.episodes[0].goal)
    at_goal, _ = env.reset(options={"episode": solved})
    lower = slice(70, 128)
    np.testing.assert_allclose(
        at_goal["front"][0, lower].astype(int), at_goal["goal_front"][0, lower], atol=3
    )
    assert env.goal_metric.success(at_goal["achieved_goal"], at_goal["desired_goal"]).all()


def test_horizons_follow_the_number_of_objects_and_can_be_set():
    def steps(env):
        env.reset(seed=0)
        for step in range(1, 200):
            if env.step(np.zeros(3, np.float32))[3]:
                return step
        return None

    assert steps(gym.make("jostle/OneCube-v0")) == 30
    assert steps(gym.make("jostle/NCubes-v0", objects=2)) == 50
    assert steps(gym.make("jostle/OneCube-v0", max_episode_steps=45)) == 45
    assert steps(gym.make("jostle/OneCube-v0", max_episode_steps=7)) == 7
    assert steps(gym.make("jostle/PushT-v0")) == 50
    assert steps(gym.make("jostle/PushT-v0", objects=2)) == 100
    envs = gym.make_vec("jostle/NCubes-v0", num_envs=2, objects=1)
    assert envs.max_episode_steps == 30
    envs = gym.make_vec("jostle/OneCube-v0", num_envs=2, max_episode_steps=12)
    assert envs.max_episode_steps == 12


def test_record_video_works(tmp_path):
    pytest.importorskip("moviepy", reason="Gymnasium's RecordVideo writes videos with moviepy")
    env = gym.make("jostle/OneCube-v0", render_mode="rgb_array", max_episode_steps=3)
    env = gym.wrappers.RecordVideo(env, str(tmp_path), disable_logger=True)
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
    env.close()
    assert list(tmp_path.glob("*.mp4"))


def test_render_shows_the_views_side_by_side():
    env = gym.make("jostle/OneCube-v0", render_mode="rgb_array", render_size=64)
    env.reset(seed=0)
    image = env.render()
    assert image.shape == (64, 128, 3)
    assert image.std() > 10
    assert env.metadata["render_fps"] == 3
    env.close()


def test_autoreset_modes_are_given_by_enum_name_or_value(make_env):
    for mode in ("DISABLED", "Disabled", gym.vector.AutoresetMode.DISABLED):
        env = make_env(1, "OneCube", autoreset_mode=mode)
        assert env.metadata["autoreset_mode"] == gym.vector.AutoresetMode.DISABLED


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"obs_type": "pixel"}, UnknownNameError, "pixels"),
        ({"cameras": ("frontt",)}, UnknownNameError, "front"),
        ({"image_sise": 64}, UnknownNameError, "image_size"),
        ({"objects": 13}, BadValueError, "1 to 12"),
        ({"render_mode": "ansi"}, BadValueError, "rgb_array"),
        ({"max_episode_steps": 0}, BadValueError, "at least 1"),
        ({"image_size": 4}, BadValueError, "pixels a side"),
        ({"autoreset_mode": "SameStep"}, BadValueError, "DISABLED"),
        ({"variation": (Shape("star"), "heavy")}, BadValueError, "heavy"),
        ({"obs_type": "pixels", "cameras": ()}, BadValueError, "camera"),
    ],
)
def test_invalid_options_are_refused_with_the_valid_ones(options, error, message, make_env):
    with pytest.raises(error, match=message):
        make_env(1, "NCubes", **options)


def test_gymnasium_passes_on_our_errors():
    with pytest.raises(UnknownNameError, match="arrangement"):
        gym.make("jostle/AdjacentGoals-v0", arrangment="random")


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.zeros((2, 3)), "shape"),
        (np.zeros((3, 2)), "shape"),
        ([[0, 0, np.nan]] * 3, "NaN"),
        ([[0, 0, np.inf]] * 3, "infinity"),
        ("left", "numbers"),
    ],
)
def test_invalid_actions_never_reach_physics(action, message, make_env):
    env = make_env(3, "OneCube")
    observation, _ = env.reset(seed=0)
    with pytest.raises(BadActionError, match=message):
        env.step(action)
    np.testing.assert_array_equal(env._observe()["observation"], observation["observation"])


def test_stepping_before_reset_is_refused(make_env):
    with pytest.raises(BadValueError, match="reset"):
        make_env(1).step(np.zeros((1, 3)))
