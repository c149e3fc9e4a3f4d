"""Moves towards what particles show: on the table, seen by two cameras, or known from the goal."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.base import PixelSensor  # noqa: E402
from jostle.core.entities import FEATURES, POSITION, TABLE_XY, Entities, EntityLayout  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.rollout.reach import reach  # noqa: E402
from jostle.rollout.reach_particles import ParticleTargets  # noqa: E402
from jostle.rollout.table_projection import UNIT  # noqa: E402
from jostle.training.behavior import BehaviorPolicy  # noqa: E402
from jostle.training.components import make_agent  # noqa: E402
from jostle.training.observers import make_observer  # noqa: E402
from jostle.zoo.encoders import load_encoder  # noqa: E402

LAYOUT = EntityLayout(((POSITION, 2), (FEATURES, 1), (TABLE_XY, 2)))
HALF_SIZE = np.array([0.25, 0.3], np.float32)
GRIPPER = np.array([[0.0, 0.0, 0.1]], np.float32)
NONE = np.array([-1])


def particles(*views: list[tuple[float, float, float]]) -> Entities:
    """Particles of one scene: place on the table in meters, and looks."""
    count = max(map(len, views))
    values = np.zeros((1, len(views), count, 5), np.float32)
    visible = np.zeros((1, len(views), count), bool)
    for view, shown in enumerate(views):
        for index, (x, y, looks) in enumerate(shown):
            values[0, view, index, 2:] = looks, x / UNIT, y / UNIT
            visible[0, view, index] = True
    return Entities(values, visible)


GOAL = particles([(-0.1, 0.2, 5.0)], [(-0.1, 0.2, 6.0), (0.5, 0.0, -9.0)])
"""A cube on the table; the retracted arm is beside it."""


def targets() -> ParticleTargets:
    return ParticleTargets(LAYOUT, 1, HALF_SIZE)


def test_objects_are_what_two_cameras_agree_on_or_what_looks_like_the_goal():
    state = particles(
        [(0.1, 0.1, 20.0), (0.0, -0.1, 5.5), (0.05, 0.0, -9.0)],
        [(0.11, 0.1, 30.0), (-0.1, 0.0, -9.0), (0.4, 0.0, 5.0)],
    )
    _, available, _ = targets().look(GRIPPER, state, GOAL, NONE)
    # Of two agreeing looks any; of one camera those of the goal; not the arm, not off the table
    assert available.tolist() == [[True, True, False, True, False, False, False]]


def test_what_one_camera_shows_twice_is_no_agreement():
    state = particles([(0.1, 0.1, 20.0), (0.105, 0.1, 20.0)], [(-0.2, 0.0, -9.0)])
    assert not targets().look(GRIPPER, state, GOAL, NONE)[1].any()


def test_hidden_particles_are_no_objects():
    state = particles([(0.1, 0.1, 5.0)], [(0.1, 0.1, 5.0)])
    hidden = Entities(state.values, np.zeros_like(state.visible))
    assert not targets().look(GRIPPER, hidden, GOAL, NONE)[1].any()


def test_a_target_is_followed_and_remembered_while_it_is_hidden():
    places = targets()
    first = particles([(0.1, 0.1, 5.0), (-0.1, -0.1, 5.0)], [])
    rows, _, _ = places.look(GRIPPER, first, GOAL, NONE)
    places.remember(rows, np.array([0]))

    # It moves, and another particle comes first now
    second = particles([(-0.1, -0.1, 5.0), (0.12, 0.13, 5.0)], [])
    rows, _, target = places.look(GRIPPER, second, GOAL, np.array([0]))
    np.testing.assert_allclose(rows[0, 1 + target[0], :2], (0.12, 0.13), atol=1e-6)
    places.remember(rows, target)

    # The arm hides it
    third = particles([(-0.1, -0.1, 5.0)], [])
    rows, available, target = places.look(GRIPPER, third, GOAL, target)
    np.testing.assert_allclose(rows[0, 1 + target[0], :2], (0.12, 0.13), atol=1e-6)
    assert available[0, target[0]]
    move = reach(rows, target)[0]
    assert move[0] > 0
    assert move[1] > 0

    # Whoever moves to nothing has no last place to return to
    _, available, target = places.look(GRIPPER, third, GOAL, NONE)
    assert target.tolist() == [-1]
    assert not available[0, -1]


def test_entities_without_a_place_on_the_table_are_refused():
    with pytest.raises(BadValueError, match="--reach-from truth"):
        ParticleTargets(LAYOUT.without(TABLE_XY), 1, HALF_SIZE)


def test_reaching_by_particles_pushes_cubes_nearly_as_often_as_by_truth(make_env):
    experiment = make_experiment("two-cubes", Axes(obs="pixels", method="td3"))
    encoder = load_encoder(experiment.encoder)
    sensor, moved = PixelSensor(encoder, experiment.cameras), {}
    for source in ("truth", "particles"):
        env = make_env(6, "TwoCubes", autoreset_mode="Disabled", threads=1, obs_type="both")
        observer = make_observer(experiment.net, env, None, sensor)
        explore = replace(experiment.explore, reach_from=source, reach_prob=0.3)
        chosen = replace(experiment, explore=explore)
        agent = make_agent(chosen, observer, None, sensor)
        policy = BehaviorPolicy(chosen, env, agent, np.random.default_rng(0))
        policy.reset(0)
        observation, _ = env.reset(seed=3)
        before = observation["achieved_goal"].copy()
        for _ in range(15):
            seen = observer.state(observation), observer.goal(observation)
            observation, *_ = env.step(policy.act(observation, *seen))
        distance = np.linalg.norm(observation["achieved_goal"] - before, axis=-1)
        moved[source] = (distance > 0.02).mean()
    assert moved["particles"] > 0.6
    assert moved["particles"] > moved["truth"] - 0.25
