"""True state as entities: the package's own features, and the original's."""

import mujoco
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.networks import make_actor, make_critics  # noqa: E402
from jostle.core.entities import GRIPPER, OBJECT_ID  # noqa: E402
from jostle.envs.goal_image import goal_image_request  # noqa: E402
from jostle.nets.config import MLP_NET, PAPER_NET  # noqa: E402
from jostle.rollout.observer import StateObserver, features_of  # noqa: E402
from jostle.rollout.smorl import SubgoalObserver  # noqa: E402
from jostle.scene.arm import GRIP  # noqa: E402
from jostle.training.components import observation_spec  # noqa: E402


def observe(make_env, features, task="TwoCubes", **options):
    env = make_env(3, task, autoreset_mode="Disabled", **options)
    observation, _ = env.reset(seed=0)
    observer = StateObserver(env.state_reader, 3, np.random.default_rng(0), features)
    observer.reset(np.arange(3))
    return env, observation, observer


def size(net) -> int:
    return sum(weight.numel() for weight in net.parameters())


@pytest.mark.parametrize("features", ["full", "paper", "flat"])
def test_shapes_are_as_announced_and_the_layout_says_which_features(make_env, features):
    _, observation, observer = observe(make_env, features, "NCubes", objects=(1, 3))
    assert observer.state(observation).shape == observer.state_shape
    assert observer.goal(observation).shape == observer.goal_shape
    assert features_of(observer.layout) == features


def test_goals_of_the_package_have_objects_only(make_env):
    _, observation, observer = observe(make_env, "full")
    goal = observer.goal(observation)
    assert goal.shape[1] == 2
    assert (goal.values[..., observer.layout[GRIPPER]] == 0).all()
    np.testing.assert_array_equal(goal.values[:, 0, :, :2], observation["desired_goal"])


@pytest.mark.parametrize(("task", "objects"), [("TwoCubes", 2), ("SmallTable", 3)])
def test_goals_of_the_paper_have_the_gripper_where_goal_images_show_it(make_env, task, objects):
    env, observation, observer = observe(make_env, "paper", task)
    state, goal = observer.state(observation), observer.goal(observation)
    assert goal.shape == state.shape == (1, 1 + objects, 2 + 1 + objects)
    assert goal.visible.all()
    np.testing.assert_array_equal(goal.values[:, 0, 1:, :2], observation["desired_goal"])
    ids = observer.layout[OBJECT_ID]
    for entities in (state, goal):  # fixed ids, the gripper's first
        expected = np.broadcast_to(np.eye(1 + objects), (3, 1 + objects, 1 + objects))
        np.testing.assert_array_equal(entities.values[:, 0, :, ids], expected)

    request = goal_image_request(env.episodes[0])
    data = mujoco.MjData(request.scene.model)
    data.qpos[:] = request.qpos
    mujoco.mj_kinematics(request.scene.model, data)
    shown = data.site(GRIP).xpos[:2]
    np.testing.assert_allclose(goal.values[:, 0, 0, :2], np.tile(shown, (3, 1)), atol=1e-6)


def test_a_goal_of_headings_shows_the_heading_of_the_gripper_and_no_position(make_env):
    _, observation, observer = observe(make_env, "paper", "PushT")
    state, goal = observer.state(observation), observer.goal(observation)
    np.testing.assert_array_equal(goal.values[:, 0, 0, 2:], state.values[:, 0, 0, 2:])
    assert (goal.values[..., :2] == 0).all()


def test_absent_objects_are_hidden_in_states_and_goals_and_the_gripper_never(make_env):
    _, observation, observer = observe(make_env, "paper", "NCubes", objects=(1, 3))
    state, goal = observer.state(observation), observer.goal(observation)
    np.testing.assert_array_equal(state.visible, goal.visible)
    assert state.visible[..., 0].all()
    assert not state.visible.all()
    assert (goal.values[~goal.visible] == 0).all()


def test_a_subgoal_is_one_object_with_the_papers_features_too(make_env):
    env, observation, _ = observe(make_env, "paper")
    observer = SubgoalObserver(env.state_reader, 3, np.random.default_rng(0), "paper")
    observer.reset(np.arange(3))
    goal, state = observer.goal(observation), observer.state(observation)
    assert goal.shape == observer.goal_shape == (1, 1, 5)
    assert observer.goal_spec().first_entity == 1
    ids = observer.layout[OBJECT_ID]
    np.testing.assert_array_equal(goal.values[:, 0, 0, ids], state.values[:, 0, 1, ids])
    desired = observation["desired_goal"][np.arange(3), observer.chosen]
    np.testing.assert_array_equal(goal.values[:, 0, 0, :2], desired)


@pytest.mark.parametrize(
    ("task", "actor", "critic"),
    [
        ("OneCube", 134_659, 137_221),
        ("TwoCubes", 135_683, 139_271),
        ("ThreeCubes", 136_707, 141_321),
    ],
)
def test_unstructured_networks_on_the_papers_state_have_the_originals_size(
    make_env, task, actor, critic
):
    _, observation, observer = observe(make_env, "flat", task)
    np.testing.assert_array_equal(
        observer.state(observation).values[:, 0], observation["observation"][..., :2]
    )
    spec = observation_spec(observer)
    assert size(make_actor(MLP_NET, spec)) == actor
    assert size(make_critics(MLP_NET, spec)) == 2 * critic


@pytest.mark.parametrize(("task", "actor"), [("OneCube", 616_323), ("ThreeCubes", 616_579)])
def test_set_networks_on_the_papers_state_have_the_originals_size(make_env, task, actor):
    _, _, observer = observe(make_env, "paper", task)
    assert size(make_actor(PAPER_NET, observation_spec(observer))) == actor
