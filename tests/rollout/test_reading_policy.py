"""State agents on places that are read off frames."""

import numpy as np
import pytest

from jostle.core.errors import BadValueError
from jostle.evaluation.audit import Audit
from jostle.oracles.catalog import SCRIPTED
from jostle.rollout.reading import ReadingPolicy


class Spoken:
    """Tells, instead of looking, what it was given; first for the state, then for the goal."""

    middle = np.array([0.5, 0.5])
    height = 0.02

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.asked = []

    def read(self, frames, colors):
        self.asked.append(colors)
        return np.array(self.answers.pop(0), float)


class Brightest:
    """Tells something that depends on every frame."""

    middle = np.zeros(2)
    height = 0.0175

    def read(self, frames, colors):
        means = frames.astype(float).mean((2, 3))  # (B, V, 3)
        return (means @ colors.transpose(0, 2, 1).astype(float)).transpose(0, 2, 1) / 1000


class Still:
    """Keeps what it is told and does nothing."""

    def __init__(self) -> None:
        self.told = None

    def act(self, observation):
        self.told = observation
        return np.zeros((len(observation["observation"]), 3), np.float32)


def both(make_env, task="TwoCubes", copies=1, **options):
    env = make_env(copies, task, obs_type="both", autoreset_mode="Disabled", **options)
    return env, env.reset(seed=0)[0]


def test_a_perfect_reader_costs_nothing(make_env):
    env, observation = both(make_env, "ThreeCubes", 2)
    oracle = SCRIPTED["oracle"](env.recipe.task)
    reader = Spoken(observation["achieved_goal"], observation["desired_goal"])
    reader.height = observation["observation"][0, 1, 2]
    policy = ReadingPolicy(oracle, reader, env)
    np.testing.assert_allclose(policy.act(observation), oracle.act(observation), atol=1e-4)


def test_true_places_of_objects_and_goals_never_reach_the_agent(make_env):
    env, observation = both(make_env, copies=2)
    blind = {name: rows.copy() for name, rows in observation.items()}
    blind["observation"][:, 1:] = np.nan
    for name in ("achieved_goal", "desired_goal"):
        blind[name][:] = np.nan
    oracle = SCRIPTED["oracle"](env.recipe.task)
    plain, again = (
        ReadingPolicy(oracle, Brightest(), env).act(one) for one in (observation, blind)
    )
    assert np.isfinite(plain).all()
    assert (plain == again).all()


def test_a_hidden_object_stays_where_it_was_last_seen(make_env):
    env, observation = both(make_env)
    nothing = [np.nan, np.nan]
    reader = Spoken(
        [[[0.1, 0.2], nothing]], [[nothing, [0.3, 0.4]]], [[nothing, [0.0, 0.1]]], [[nothing] * 2]
    )
    agent = Still()
    policy = ReadingPolicy(agent, reader, env)
    wanted = [
        [[0.1, 0.2], [0.5, 0.5]],  # the second was never seen: the mean place
        [[0.1, 0.2], [0.0, 0.1]],
        [[0.1, 0.2], [0.0, 0.1]],
    ]
    for places, found in zip(wanted, ([True, False], [False, True], [False, False]), strict=True):
        policy.act(observation)
        np.testing.assert_allclose(agent.told["achieved_goal"][0], places, atol=1e-6)
        np.testing.assert_allclose(agent.told["observation"][0, 1:, :2], places, atol=1e-6)
        np.testing.assert_allclose(agent.told["observation"][0, 1:, 2], 0.02, atol=1e-6)
        np.testing.assert_allclose(agent.told["desired_goal"][0], [[0.5, 0.5], [0.3, 0.4]])
        assert policy.found.tolist() == [found]
    assert (agent.told["observation"][:, 0] == observation["observation"][:, 0]).all()


def test_a_new_episode_forgets_the_last_one_and_looks_at_its_own_goal(make_env):
    env, observation = both(make_env, "OneCube")
    nothing = [[[np.nan, np.nan]]]
    reader = Spoken([[[0.1, 0.2]]], [[[0.3, 0.4]]], nothing, [[[0.0, 0.1]]])
    agent = Still()
    policy = ReadingPolicy(agent, reader, env)
    policy.act(observation)
    policy.restart()
    policy.act(observation)
    np.testing.assert_allclose(agent.told["achieved_goal"], [[[0.5, 0.5]]])
    np.testing.assert_allclose(agent.told["desired_goal"], [[[0.0, 0.1]]])


def test_readers_are_asked_by_the_colors_of_each_copy(make_env):
    env, observation = both(make_env, copies=3, colors="random")
    reader = Spoken(np.zeros((3, 2, 2)), np.zeros((3, 2, 2)))
    ReadingPolicy(Still(), reader, env).act(observation)
    own = np.array([one.look.colors for one in env.episodes], np.float32)
    assert len(np.unique(own.reshape(-1, 3), axis=0)) > 2
    assert all((asked == own).all() for asked in reader.asked)


def test_an_audit_tells_how_wrong_readings_were(make_env):
    env, observation = both(make_env, "OneCube")
    off = np.array([0.03, 0.04], np.float32)
    reader = Spoken(
        observation["achieved_goal"] + off, observation["desired_goal"], [[[np.nan, np.nan]]]
    )
    audit = Audit(ReadingPolicy(Still(), reader, env))
    audit.restart()
    for _ in range(2):
        audit.act(observation)
    told, true = audit.objects
    np.testing.assert_allclose(np.linalg.norm(told - true, axis=-1), 0.05, atol=1e-6)
    told, true = audit.goals
    assert told.shape == (1, 1, 2)
    assert (told == true).all()
    assert audit.found == 0.5


def test_headings_and_unknown_numbers_of_objects_are_refused(make_env):
    with pytest.raises(BadValueError, match="asks for headings"):
        ReadingPolicy(Still(), Brightest(), both(make_env, "PushT")[0])
    with pytest.raises(BadValueError, match="how many objects"):
        ReadingPolicy(Still(), Brightest(), both(make_env, "NCubes", objects=(1, 2))[0])
