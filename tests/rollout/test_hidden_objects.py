"""Where objects are that no view shows: pushed aside by the gripper, near what hides them."""

import numpy as np
import pytest

pytest.importorskip("torch")

from found_objects import ARM, COLORS, PARTICLES, by_sum, particles
from jostle.core.entities import POSITION, Entities
from jostle.rollout.found_object_observer import FOUND_LAYOUT, FoundObjectObserver
from jostle.rollout.hidden_objects import _CONTACT, _NEAR, nearest, pushed

RED = COLORS[0]
LOW, HIGH = 0.02, 0.1


def at(*xyz):
    return np.array([xyz], np.float32)


def test_what_the_gripper_does_not_touch_stays():
    places = np.random.default_rng(0).uniform(-0.2, 0.2, (1, 40, 2)).astype(np.float32)
    before, after = at(0.0, 0.0, LOW), at(0.04, 0.0, LOW)
    moved = pushed(places, before, after)
    path = np.stack([np.linspace(0, 0.04, 9)[1:], np.zeros(8)], axis=-1)
    apart = np.linalg.norm(places[0, :, None] - path, axis=-1).min(1) > _CONTACT
    assert 0 < apart.sum() < 40
    np.testing.assert_array_equal(moved[0, apart], places[0, apart])
    assert (np.linalg.norm(moved[0] - after[0, :2], axis=-1) > _CONTACT - 1e-5).all()


@pytest.mark.parametrize("direction", [(1, 0), (0, -1), (0.6, 0.8)])
def test_an_object_ahead_is_pushed_along_and_no_farther(direction):
    direction = np.array(direction, np.float32)
    place = (0.05 * direction)[None, None]
    after = np.append(0.04 * direction, LOW)[None].astype(np.float32)
    moved = pushed(place, at(0.0, 0.0, LOW), after)
    np.testing.assert_allclose(moved[0, 0], (0.04 + _CONTACT) * direction, atol=1e-5)


def test_a_raised_gripper_passes_over_objects():
    place = np.array([[[0.03, 0.0]]], np.float32)
    np.testing.assert_array_equal(pushed(place, at(0.0, 0.0, HIGH), at(0.04, 0.0, HIGH)), place)


def test_the_nearest_candidate_is_taken_if_it_is_near():
    places = np.array([[[0.0, 0.0], [0.3, 0.0]]], np.float32)
    seen = np.array([[[0.01, 0.0], [0.02, 0.0], [0.3, 2 * _NEAR]]], np.float32)
    found = nearest(places, seen, np.array([[False, True, True]]))
    np.testing.assert_allclose(found, [[[0.02, 0.0], [0.3, 0.0]]])
    np.testing.assert_array_equal(nearest(places, seen, np.zeros((1, 3), bool)), places)


def test_an_observer_lets_the_gripper_push_what_no_view_shows():
    class Particles:
        layout, state_shape = PARTICLES, (1, 6, PARTICLES.width)

        def state(self, observation):
            return observation["particles"]

        def goal(self, observation):
            return particles([(RED, (0.2, 0.2))])

    def look(gripper, *seen):
        observation = {"particles": particles(list(seen)), "observation": at(*gripper)[:, None]}
        state: Entities = found.state(observation)
        return state.values[0, 0, 1, FOUND_LAYOUT[POSITION]]

    found = FoundObjectObserver(Particles(), by_sum(), (1, 1))
    np.testing.assert_allclose(look((0.0, 0.0, LOW), (RED, (0.05, 0.0))), [0.05, 0.0], atol=1e-6)
    np.testing.assert_allclose(look((0.04, 0.0, LOW)), [0.04 + _CONTACT, 0.0], atol=1e-5)
    mixed = (ARM, (0.08, 0.01))  # looks like the arm, and lies where the object must be
    np.testing.assert_allclose(look((0.04, 0.0, LOW), mixed), [0.08, 0.01], atol=1e-6)
    np.testing.assert_allclose(look((0.04, 0.0, LOW), (RED, (0.1, 0.1))), [0.1, 0.1], atol=1e-6)
