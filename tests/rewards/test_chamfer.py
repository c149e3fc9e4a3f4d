"""Chamfer rewards: their laws, and agreement with a slow version and with stored numbers."""

import math

import numpy as np
import pytest
from particles import random_set, slow_chamfer

from jostle.core.entities import Entities, EntityLayout
from jostle.core.errors import BadValueError, NotFiniteError
from jostle.rewards.chamfer import ChamferConfig, SubgoalConfig, chamfer_reward, subgoal_reward
from jostle.rewards.particle_sets import ParticleSet, particle_set

VARIANTS = pytest.mark.parametrize("variant", ["gdac-code", "gdac-paper", "plain"])
GOLDEN = {
    "gdac-code": [-1.85453, -2.046708, -2.077792, -2.082647],
    "gdac-paper": [-3.70906, -3.095979, -4.04711, -4.165293],
    "plain": [-1.89319, -2.08612, -2.18668, -2.099001],
}
"""Rewards of `golden_pair` with threshold 6, by `slow_chamfer`."""


def golden_pair() -> tuple[ParticleSet, ParticleSet]:
    rng = np.random.default_rng(7)
    return random_set(rng, 6, (4, 2)), random_set(rng, 5, (4, 2))


def shuffled(particles: ParticleSet, rng: np.random.Generator) -> ParticleSet:
    order = rng.permutation(particles.kept.shape[-1])
    return ParticleSet(*(array[:, :, order] for array in particles))


def as_torch(particles: ParticleSet) -> ParticleSet:
    torch = pytest.importorskip("torch")
    return ParticleSet(*(torch.from_numpy(array) for array in particles))


@VARIANTS
@pytest.mark.parametrize("threshold", [1.0, 6.0, 30.0, math.inf])
@pytest.mark.parametrize("views", [1, 2, 3])
def test_it_agrees_with_the_slow_version(variant, threshold, views, rng):
    state, goal = random_set(rng, 7, (30, views), 0.4), random_set(rng, 4, (30, views), 0.4)
    goal.kept[::5, 0] = False
    reward = chamfer_reward(state, goal, ChamferConfig(variant, threshold))
    for row in range(30):
        pair = (ParticleSet(*(array[row] for array in part)) for part in (state, goal))
        assert reward[row] == pytest.approx(slow_chamfer(*pair, variant, threshold), abs=1e-9)


@VARIANTS
def test_golden_numbers(variant):
    reward = chamfer_reward(*golden_pair(), ChamferConfig(variant))
    np.testing.assert_allclose(reward, GOLDEN[variant], atol=1e-6)


@VARIANTS
def test_equal_sets_get_zero(variant, rng):
    state = random_set(rng, 8)
    np.testing.assert_allclose(chamfer_reward(state, state, ChamferConfig(variant)), 0, atol=1e-9)


@VARIANTS
def test_state_and_goal_can_be_swapped(variant, rng):
    state, goal, config = random_set(rng, 8), random_set(rng, 3), ChamferConfig(variant)
    there, back = chamfer_reward(state, goal, config), chamfer_reward(goal, state, config)
    np.testing.assert_allclose(there, back, rtol=1e-12)


@VARIANTS
def test_the_order_of_particles_does_not_matter(variant, rng):
    state, goal, config = random_set(rng, 8), random_set(rng, 6), ChamferConfig(variant)
    mixed = chamfer_reward(shuffled(state, rng), shuffled(goal, rng), config)
    np.testing.assert_allclose(mixed, chamfer_reward(state, goal, config), rtol=1e-12)


def one_to_one_pair(rng: np.random.Generator) -> list[ParticleSet]:
    """Five objects whose features are far apart, of which one is missing in each side."""
    features = np.broadcast_to(10.0 * np.arange(5)[:, None], (40, 2, 5, 4))
    sides = []
    for missing in (3, 4):
        positions, noise = rng.uniform(-1, 1, (40, 2, 5, 2)), rng.normal(size=(40, 2, 5, 4))
        kept = np.broadcast_to(np.arange(5) != missing, (40, 2, 5))
        sides.append(ParticleSet(positions, features + 0.1 * noise, kept))
    return sides


@pytest.mark.parametrize("variant", ["gdac-code", "gdac-paper"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("copied", [0, 3, 4])
def test_an_exact_duplicate_changes_almost_nothing(variant, side, copied, rng):
    pair = one_to_one_pair(rng)
    before = chamfer_reward(*pair, ChamferConfig(variant))
    pair[side] = with_copy(pair[side], copied)
    after = chamfer_reward(*pair, ChamferConfig(variant))
    assert np.abs(after - before).max() < 1e-5


def with_copy(particles: ParticleSet, index: int) -> ParticleSet:
    parts = (np.concatenate((a, a[:, :, index : index + 1]), axis=2) for a in particles)
    return ParticleSet(*parts)


def test_a_duplicate_has_twice_the_weight_where_different_particles_share_a_match():
    positions = np.array([[[[0.0, 0.0], [1.0, 0.0]]]])  # (1, 1, 2, 2)
    state = ParticleSet(positions, np.zeros((1, 1, 2, 4)), np.ones((1, 1, 2), bool))
    goal = ParticleSet(*(array[:, :, :1] for array in state))
    # The goal's match is the first particle, at distance 0: only the state's direction costs
    before = chamfer_reward(state, goal, ChamferConfig())
    after = chamfer_reward(with_copy(state, 1), goal, ChamferConfig())
    assert before == pytest.approx(-1 / 2, abs=1e-5)
    assert after == pytest.approx(-2 / 3, abs=1e-5)


@VARIANTS
@pytest.mark.parametrize("side", [0, 1])
def test_a_view_without_particles_gets_minus_one(variant, side, rng):
    pair = (random_set(rng, 8), random_set(rng, 6))
    config = ChamferConfig(variant)
    other_view = chamfer_reward(*(ParticleSet(*(a[:, 1:] for a in part)) for part in pair), config)
    pair[side].kept[:, 0] = False
    reward = chamfer_reward(*pair, config)
    np.testing.assert_allclose(reward, (2 * -1 + other_view) / 2, rtol=1e-12)
    pair[side].kept[:] = False
    np.testing.assert_array_equal(chamfer_reward(*pair, config), np.full(5, -2.0))


@VARIANTS
def test_sets_may_have_no_place_for_particles_at_all(variant, rng):
    reward = chamfer_reward(random_set(rng, 8), random_set(rng, 0), ChamferConfig(variant))
    np.testing.assert_array_equal(reward, np.full(5, -2.0))


@VARIANTS
def test_what_is_not_kept_does_not_matter(variant, rng):
    state, goal, config = random_set(rng, 8), random_set(rng, 6), ChamferConfig(variant)
    before = chamfer_reward(state, goal, config)
    for particles in (state, goal):
        particles.positions[~particles.kept] = 0.3
        particles.features[~particles.kept] = 100.0
    np.testing.assert_array_equal(chamfer_reward(state, goal, config), before)


@VARIANTS
def test_no_reward_is_below_the_stated_minimum_and_corners_reach_it(variant, rng):
    config = ChamferConfig(variant, threshold=2.0)
    reward = chamfer_reward(random_set(rng, 8, (500, 2)), random_set(rng, 2, (500, 2)), config)
    assert (reward >= config.minimum).all()
    # Two matched particles in opposite corners, and a third without a match
    corner = np.ones((1, 1, 1, 2))
    features, kept = np.zeros((1, 1, 1, 4)), np.ones((1, 1, 1), bool)
    state, goal = ParticleSet(-corner, features, kept), ParticleSet(corner, features, kept)
    if variant == "gdac-paper":
        state, goal = (
            ParticleSet(
                np.concatenate((part.positions, part.positions), 2),
                np.concatenate((part.features, part.features + far), 2),
                np.ones((1, 1, 2), bool),
            )
            for part, far in ((state, 9.0), (goal, -9.0))
        )
    assert chamfer_reward(state, goal, config) == pytest.approx(config.minimum, rel=1e-5)


@VARIANTS
@pytest.mark.parametrize("part", ["positions", "features"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_never_become_a_reward(variant, part, value, rng):
    state, goal = random_set(rng, 8), random_set(rng, 6)
    getattr(goal, part)[2, 1, 3, 0] = value
    with pytest.raises(NotFiniteError, match=f"The {part} of 1 particle columns"):
        chamfer_reward(state, goal, ChamferConfig(variant))


@VARIANTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_and_torch_agree_and_keep_the_type(variant, dtype, rng):
    state, goal = (
        ParticleSet(part.positions.astype(dtype), part.features.astype(dtype), part.kept)
        for part in (random_set(rng, 8), random_set(rng, 6))
    )
    ours = chamfer_reward(state, goal, ChamferConfig(variant))
    tensor = chamfer_reward(as_torch(state), as_torch(goal), ChamferConfig(variant))
    assert ours.dtype == tensor.numpy().dtype == dtype
    np.testing.assert_allclose(tensor.numpy(), ours, rtol=1e-5)


def test_any_leading_axes_will_do(rng):
    state, goal = random_set(rng, 8, (12, 2)), random_set(rng, 6, (12, 2))
    flat = chamfer_reward(state, goal, ChamferConfig())
    folded = [ParticleSet(*(a.reshape(3, 4, *a.shape[1:]) for a in p)) for p in (state, goal)]
    np.testing.assert_array_equal(chamfer_reward(*folded, ChamferConfig()), flat.reshape(3, 4))


@pytest.mark.parametrize(("norm", "expected"), [("l1", 0.7), ("l2", 0.5)])
def test_the_subgoal_reward_is_the_distance_to_the_match_alone(norm, expected, rng):
    state = random_set(rng, 6, (1, 2))
    goal = ParticleSet(*(array[:, :, :1].copy() for array in state))
    goal.positions[...] = state.positions[:, :, :1] + (0.3, 0.4)
    reward = subgoal_reward(state, goal, SubgoalConfig(norm))
    assert reward == pytest.approx(-2 * expected)
    goal.kept[:, 0] = False  # this view has no goal particle of an object
    assert subgoal_reward(state, goal, SubgoalConfig(norm)) == pytest.approx(-expected)
    goal.kept[:, 0] = True
    goal.features[:, 0] += 100.0  # nothing in this view matches
    reward = subgoal_reward(state, goal, SubgoalConfig(norm))
    assert reward == pytest.approx(-1 - expected)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_subgoal_reward_keeps_the_laws_too(norm, rng):
    config = SubgoalConfig(norm)
    state, goal = random_set(rng, 8, (200, 2)), random_set(rng, 1, (200, 2))
    reward = subgoal_reward(state, goal, config)
    assert ((reward >= config.minimum) & (reward <= 0)).all()
    np.testing.assert_allclose(subgoal_reward(shuffled(state, rng), goal, config), reward)
    tensor = subgoal_reward(as_torch(state), as_torch(goal), config)
    np.testing.assert_allclose(tensor.numpy(), reward)
    state.kept[:] = False
    np.testing.assert_array_equal(subgoal_reward(state, goal, config), np.full(200, -2.0))
    state.features[0, 0, 0, 0] = np.nan
    with pytest.raises(NotFiniteError):
        subgoal_reward(state, goal, config)


def test_the_subgoal_reward_is_one_sided(rng):
    state, goal = random_set(rng, 6, (1, 1)), random_set(rng, 1, (1, 1))
    more = ParticleSet(*(np.concatenate((a, a[:, :, :1]), axis=2) for a in state))
    more.features[:, :, -1] += 50.0  # another object, which the sub-goal is not about
    config = SubgoalConfig()
    assert subgoal_reward(more, goal, config) == subgoal_reward(state, goal, config)


def test_bad_input_is_refused(rng):
    with pytest.raises(BadValueError, match="no Chamfer reward 'gdac'"):
        ChamferConfig("gdac")
    with pytest.raises(BadValueError, match="must be positive, not 0"):
        ChamferConfig(threshold=0)
    with pytest.raises(BadValueError, match="one particle per view, but this goal has 3"):
        subgoal_reward(random_set(rng, 3), random_set(rng, 3), SubgoalConfig())
    state = random_set(rng, 3)
    goal = state._replace(features=state.features[..., :2])
    with pytest.raises(BadValueError, match="encode both"):
        chamfer_reward(state, goal, ChamferConfig())
    vector = Entities(np.zeros((1, 1, 1, 4)), np.ones((1, 1, 1), bool))
    with pytest.raises(BadValueError, match="needs particles with the columns"):
        particle_set(vector, EntityLayout((("features", 4),)))
