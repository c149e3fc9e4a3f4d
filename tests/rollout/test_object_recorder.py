"""Objects along an episode by images: what may become a goal, what counts, success and return."""

import numpy as np
import pytest

pytest.importorskip("torch")

from found_objects import ARM, COLORS, PARTICLES, by_sum, particles
from jostle.core.entities import POSITION, TABLE_XY, Entities
from jostle.core.errors import BadValueError
from jostle.core.found_objects import IMAGE_METRICS
from jostle.rewards.table import TableReward
from jostle.rollout.object_recorder import ObjectRecorder, ObjectRules
from jostle.rollout.object_tracks import ObjectTracker

RED, GREEN, BLUE, _ = COLORS
HALF = np.array([0.2, 0.3], np.float32)
GOAL = [(RED, (0.1, 0.0)), (GREEN, (-0.1, 0.0))]


def recorder(*steps, goal=GOAL, views=1, **options):
    """What a recorder has seen after steps of particles."""
    tracker = ObjectTracker(by_sum(), PARTICLES, views)
    reward = TableReward(tracker.layout, same_color=20.0, scale=0.5, farthest=1.0)
    recording = ObjectRecorder(tracker, ObjectRules(reward, 0.04, HALF), **options)
    empty = [[]] * (views - 1)
    recording.start(particles(steps[0], *empty), particles(goal, *empty))
    for step in steps[1:]:
        recording.add(particles(step, *empty))
    return recording


def test_a_step_may_become_a_goal_if_every_goal_object_is_seen_on_the_table():
    both = [(RED, (0.0, 0.1)), (GREEN, (0.0, -0.1))]
    recording = recorder(
        both,
        [*both, (BLUE, (0.1, 0.1)), (ARM, (0.0, 0.0))],  # what is in no goal does not matter
        both[:1],  # one is hidden
        both,
        [(RED, (0.19, 0.1)), (GREEN, (0.0, -0.1))],
        [(RED, (0.21, 0.1)), (GREEN, (0.0, -0.1))],  # beside the table, as it falls
        [(GREEN, (0.0, -0.1))],  # fallen
        [(RED, (0.0, 0.1)), (BLUE, (0.0, -0.1))],  # another object does not replace it
    )
    expected = [True, True, False, True, True, False, False, False]
    assert recording.goal_steps()[0].tolist() == expected


def test_two_goals_of_one_color_need_two_objects():
    goal = [(RED, (0.1, 0.0)), (RED, (-0.1, 0.0))]
    two, one = [(RED, (0.1, 0.1)), (RED, (0.0, 0.2))], [(RED, (0.1, 0.1))]
    assert recorder(two, one, two, goal=goal).goal_steps()[0].tolist() == [True, False, True]


def test_objects_of_no_goal_are_left_out_and_hidden_ones_remembered():
    recording = recorder(
        [(RED, (0.0, 0.1)), (BLUE, (0.1, 0.1)), (GREEN, (0.0, -0.1))], [(BLUE, (0.1, 0.1))]
    )
    trajectory = recording.trajectory()
    assert trajectory.states.values.shape[:3] == (1, 2, 1)
    for step in range(2):
        places = trajectory.states.values[0, step, 0][trajectory.states.visible[0, step, 0]]
        np.testing.assert_allclose(places[:, :2], [[0.0, 0.1], [0.0, -0.1]], atol=1e-6)
    assert trajectory.goal.visible.sum() == 2
    assert recorder(GOAL, keep_states=False).trajectory() is None


def test_an_object_keeps_its_identity_and_looks_while_the_arm_hides_half_of_it():
    shades = np.linspace(1, 0.2, 40, dtype=np.float32)  # more and more hidden: up to 52 from red
    recording = recorder(
        *[[(shade * RED, (0.0, 0.1)), (GREEN, (0.0, -0.1))] for shade in shades[:-1]],
        [(shades[-1] * RED, (0.0, 0.12)), (GREEN, (0.0, -0.1))],
    )
    states = recording.trajectory().states
    assert (states.visible.sum(-1) == 2).all()
    np.testing.assert_allclose(states.values[0, -1, 0, 0, :5], [0.0, 0.12, *RED], atol=1e-6)
    assert recording.goal_steps().all()


def test_metrics_by_images():
    start = [(RED, (0.1, 0.2)), (GREEN, (-0.1, 0.0))]
    near = [(RED, (0.1, 0.03)), (GREEN, (-0.1, 0.0))]
    metrics = recorder(start, near).metrics()
    assert metrics.keys() == IMAGE_METRICS.keys()
    assert {name: values.item() for name, values in metrics.items()} == pytest.approx(
        {"image_success": 1, "image_success_fraction": 1, "image_distance": 0.015,
         "image_return": -2 * 0.015 / 0.5}, abs=1e-6,
    )  # fmt: skip
    metrics = recorder(near, start).metrics()
    assert metrics["image_success"] == 0
    assert metrics["image_success_fraction"] == 0.5
    assert recorder(near, goal=[(BLUE, (0.0, 0.0))]).metrics()["image_success"] == 0


def test_goal_pictures_without_any_object_are_refused():
    with pytest.raises(BadValueError, match="finds no object"):
        recorder(GOAL, goal=[(ARM, (0.0, 0.0))])


def test_particles_without_a_place_on_the_table_are_projected():
    def project(entities):
        values = entities.values.copy()
        values[..., PARTICLES[TABLE_XY]] = values[..., PARTICLES[POSITION]]
        return Entities(values * entities.visible[..., None], entities.visible)

    tracker = ObjectTracker(by_sum(), PARTICLES, 1)
    reward = TableReward(tracker.layout, same_color=20.0, scale=0.5, farthest=1.0)
    recording = ObjectRecorder(tracker, ObjectRules(reward, 0.04, HALF), project)
    scene = particles([(RED, (0.0, 0.0))])
    scene.values[..., PARTICLES[POSITION]] = [1.0, -2.0]
    recording.start(scene, scene)
    np.testing.assert_allclose(
        recording.trajectory().states.values[0, 0, 0, 0, :2], [0.1, -0.2], atol=1e-6
    )
