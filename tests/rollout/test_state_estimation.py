"""State agents on positions estimated from frames."""

import numpy as np
import pytest

from jostle.core.errors import BadValueError
from jostle.evaluation.estimation_log import EstimationLog
from jostle.oracles.catalog import SCRIPTED
from jostle.rollout.state_estimation import EstimatedStatePolicy


class FixedEstimator:
    """Returns given estimates in turn; first for the state, then for the goal."""

    mean_position = np.array([0.5, 0.5])
    height = 0.02

    def __init__(self, *estimates) -> None:
        self.estimates = list(estimates)
        self.colors = []

    def estimate(self, frames, colors):
        self.colors.append(colors)
        return np.array(self.estimates.pop(0), float)


class BrightnessEstimator:
    """Returns something that depends on every frame."""

    mean_position = np.zeros(2)
    height = 0.0175

    def estimate(self, frames, colors):
        means = frames.astype(float).mean((2, 3))  # (B, V, 3)
        return (means @ colors.transpose(0, 2, 1).astype(float)).transpose(0, 2, 1) / 1000


class IdlePolicy:
    """Keeps its last observation and does nothing."""

    def __init__(self) -> None:
        self.observation = None

    def act(self, observation):
        self.observation = observation
        return np.zeros((len(observation["observation"]), 3), np.float32)


def make_pixel_env(make_env, task="TwoCubes", num_envs=1, **options):
    env = make_env(num_envs, task, obs_type="both", autoreset_mode="Disabled", **options)
    return env, env.reset(seed=0)[0]


def test_perfect_estimates_give_the_same_actions(make_env):
    env, observation = make_pixel_env(make_env, "ThreeCubes", 2)
    oracle = SCRIPTED["oracle"](env.episode_sampler.task)
    estimator = FixedEstimator(observation["achieved_goal"], observation["desired_goal"])
    estimator.height = observation["observation"][0, 1, 2]
    policy = EstimatedStatePolicy(oracle, estimator, env)
    np.testing.assert_allclose(policy.act(observation), oracle.act(observation), atol=1e-4)


def test_true_positions_never_reach_the_agent(make_env):
    env, observation = make_pixel_env(make_env, num_envs=2)
    masked = {name: rows.copy() for name, rows in observation.items()}
    masked["observation"][:, 1:] = np.nan
    for name in ("achieved_goal", "desired_goal"):
        masked[name][:] = np.nan
    oracle = SCRIPTED["oracle"](env.episode_sampler.task)
    actions, masked_actions = (
        EstimatedStatePolicy(oracle, BrightnessEstimator(), env).act(given)
        for given in (observation, masked)
    )
    assert np.isfinite(actions).all()
    assert (actions == masked_actions).all()


def test_an_undetected_object_stays_at_its_last_position(make_env):
    env, observation = make_pixel_env(make_env)
    nothing = [np.nan, np.nan]
    estimator = FixedEstimator(
        [[[0.1, 0.2], nothing]], [[nothing, [0.3, 0.4]]], [[nothing, [0.0, 0.1]]], [[nothing] * 2]
    )
    agent = IdlePolicy()
    policy = EstimatedStatePolicy(agent, estimator, env)
    expected = [
        [[0.1, 0.2], [0.5, 0.5]],  # the second was never detected: the mean position
        [[0.1, 0.2], [0.0, 0.1]],
        [[0.1, 0.2], [0.0, 0.1]],
    ]
    found = ([True, False], [False, True], [False, False])
    for positions, detected in zip(expected, found, strict=True):
        policy.act(observation)
        np.testing.assert_allclose(agent.observation["achieved_goal"][0], positions, atol=1e-6)
        objects = agent.observation["observation"][0, 1:]
        np.testing.assert_allclose(objects[:, :2], positions, atol=1e-6)
        np.testing.assert_allclose(objects[:, 2], 0.02, atol=1e-6)
        np.testing.assert_allclose(agent.observation["desired_goal"][0], [[0.5, 0.5], [0.3, 0.4]])
        assert policy.detected.tolist() == [detected]
    assert (agent.observation["observation"][:, 0] == observation["observation"][:, 0]).all()


def test_a_new_episode_discards_old_positions_and_estimates_its_own_goal(make_env):
    env, observation = make_pixel_env(make_env, "OneCube")
    nothing = [[[np.nan, np.nan]]]
    estimator = FixedEstimator([[[0.1, 0.2]]], [[[0.3, 0.4]]], nothing, [[[0.0, 0.1]]])
    agent = IdlePolicy()
    policy = EstimatedStatePolicy(agent, estimator, env)
    policy.act(observation)
    policy.reset()
    policy.act(observation)
    np.testing.assert_allclose(agent.observation["achieved_goal"], [[[0.5, 0.5]]])
    np.testing.assert_allclose(agent.observation["desired_goal"], [[[0.0, 0.1]]])


def test_estimators_get_the_colors_of_each_environment(make_env):
    env, observation = make_pixel_env(make_env, num_envs=3, colors="random")
    estimator = FixedEstimator(np.zeros((3, 2, 2)), np.zeros((3, 2, 2)))
    EstimatedStatePolicy(IdlePolicy(), estimator, env).act(observation)
    own = np.array([episode.appearance.colors for episode in env.episodes], np.float32)
    assert len(np.unique(own.reshape(-1, 3), axis=0)) > 2
    assert all((given == own).all() for given in estimator.colors)


def test_the_log_compares_estimated_with_true_positions(make_env):
    env, observation = make_pixel_env(make_env, "OneCube")
    error = np.array([0.03, 0.04], np.float32)
    estimator = FixedEstimator(
        observation["achieved_goal"] + error, observation["desired_goal"], [[[np.nan, np.nan]]]
    )
    log = EstimationLog(EstimatedStatePolicy(IdlePolicy(), estimator, env))
    log.reset()
    for _ in range(2):
        log.act(observation)
    estimated, true = log.objects
    np.testing.assert_allclose(np.linalg.norm(estimated - true, axis=-1), 0.05, atol=1e-6)
    estimated, true = log.goals
    assert estimated.shape == (1, 1, 2)
    assert (estimated == true).all()
    assert log.detection_rate == 0.5


def test_yaw_goals_and_ranges_of_objects_are_rejected(make_env):
    yaw, _ = make_pixel_env(make_env, "PushT")
    with pytest.raises(BadValueError, match="has yaw goals"):
        EstimatedStatePolicy(IdlePolicy(), BrightnessEstimator(), yaw)
    several, _ = make_pixel_env(make_env, "NCubes", objects=(1, 2))
    with pytest.raises(BadValueError, match="fixed number of objects"):
        EstimatedStatePolicy(IdlePolicy(), BrightnessEstimator(), several)
