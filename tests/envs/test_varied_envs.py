"""Varied environments: the same episodes, seen or simulated differently."""

import numpy as np
import pytest

from jostle.cli.eval_jobs import EvalJob
from jostle.core.errors import BadValueError, ImpossibleSceneError, JostleError
from jostle.envs.vary_check import check_varied_episodes
from jostle.tasks.vary import parse_vary

PIXELS = {"obs_type": "both", "cameras": ("front", "side"), "image_size": 32}


def job(vary="", episodes=8, task="ThreeCubes", **options):
    return EvalJob(
        agent="oracle", task=task, episodes=episodes, num_envs=2, vary=parse_vary(vary), **options
    )


def first_observation(make_env, vary):
    env = make_env(2, "ThreeCubes", **parse_vary(vary).env_kwargs(PIXELS, "agent"))
    return env.reset(seed=0)[0]


def test_episodes_without_variation_keep_the_hash_of_published_results():
    assert job(episodes=400).episode_set() == "e08549bbb13f"


def test_the_hash_of_a_set_of_episodes_includes_the_variation():
    texts = ("", "mass=x20", "mass=x10", "light=0.7", "color=held-out", "mass=x20 light=0.7")
    assert len({job(text).episode_set() for text in texts}) == len(texts)
    assert job("light=0.7 mass=x20").episode_set() == job("mass=x20 light=0.7").episode_set()


@pytest.mark.parametrize("vary", ["color=held-out", "light=0.7", "light_angle=40", "mass=x20"])
def test_starts_and_goals_do_not_depend_on_looks_and_masses(make_env, vary):
    plain, varied = first_observation(make_env, ""), first_observation(make_env, vary)
    for key in ("observation", "achieved_goal", "desired_goal"):
        assert (plain[key] == varied[key]).all()
    same = (plain["front"] == varied["front"]).all()
    assert same == (vary == "mass=x20")


def test_a_moved_camera_changes_its_own_images_alone(make_env):
    plain = first_observation(make_env, "")
    moved = first_observation(make_env, "camera.front.x=+0.1")
    for name in ("front", "goal_front"):
        assert (plain[name] != moved[name]).any()
    for name in ("side", "goal_side", "observation", "desired_goal"):
        assert (plain[name] == moved[name]).all()


def test_a_dropped_camera_is_missing_and_changes_nothing_else(make_env):
    plain = first_observation(make_env, "")
    dropped = first_observation(make_env, "drop_camera=side")
    assert set(plain) - set(dropped) == {"side", "goal_side"}
    assert all((plain[name] == dropped[name]).all() for name in dropped)


def test_heavy_objects_move_less(make_env):
    """The gripper pushes for ten steps where the first cube is; its mass decides how far it moves.

    The gripper itself follows the same targets.
    """
    moved = {}
    for vary in ("", "mass=x200 friction=3"):
        env = make_env(1, "OneCube", **parse_vary(vary).env_kwargs({}, "agent"))
        observation, _ = env.reset(seed=3)
        start = observation["achieved_goal"][0, 0].copy()
        for _ in range(12):
            gripper, cube = observation["observation"][0, :, :3]
            action = np.clip((cube - gripper) / 0.125, -1, 1)[None].astype(np.float32)
            observation, *_ = env.step(action)
        moved[vary] = float(np.linalg.norm(observation["achieved_goal"][0, 0] - start))
    assert moved[""] > 0.03
    assert moved["mass=x200 friction=3"] < 0.5 * moved[""]


def test_variations_that_are_impossible_in_a_later_episode_are_refused_at_once():
    with pytest.raises(ImpossibleSceneError, match="ThreeCubes cannot be varied by 'size=6x6'"):
        job("size=6").check()
    with pytest.raises(JostleError, match="OrderedPush cannot be varied"):
        job("table=0.3x0.3", task="OrderedPush").check()
    with pytest.raises(BadValueError, match="observes true state"):
        job("drop_camera=side").check()
    job("size=1.5 mass=x20 color=held-out light=0.5").check()


def test_without_variation_nothing_is_sampled():
    check_varied_episodes(parse_vary(""), "NoSuchTask", {"nonsense": 1}, [0])
