"""The toy MDP whose optimal values are known, and critics of the same form."""

import pytest

pytest.importorskip("torch")

import torch

from jostle.theory.turntable import (
    QUALITY,
    AttentionCritic,
    Turntable,
    measure_critic,
    train_critic,
)


def states(objects, sets=16):
    return Turntable().sample(sets, objects, torch.Generator().manual_seed(objects)).double()


@pytest.mark.parametrize("objects", [1, 2, 5])
def test_the_optimal_values_satisfy_the_bellman_equation(objects):
    mdp, here = Turntable(), states(objects)
    for action in range(len(QUALITY)):
        actions = torch.full((len(here),), action)
        best = mdp.optimal(mdp.turned(here, actions)).mean(-1).amax(-1)  # (B,)
        target = mdp.rewards(here, actions).mean(-1) + mdp.gamma * best
        torch.testing.assert_close(mdp.optimal(here)[:, action].mean(-1), target)


def test_rewards_lie_in_the_unit_interval_and_values_below_the_top():
    mdp, here = Turntable(), states(4, sets=200)
    rewards = mdp.rewards(here, torch.full((200,), 2))
    assert 0 <= rewards.min() <= rewards.max() <= 1
    assert mdp.optimal(here).max() <= mdp.top


def test_a_critic_is_equivariant_and_gives_one_object_its_own_value():
    critic, here = AttentionCritic().double(), states(4)
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(critic(here[:, order]), critic(here)[..., order])
    alone = states(1)
    torch.testing.assert_close(critic(alone), critic.value(alone).mT)


def test_training_reduces_errors_and_depends_on_the_seed_alone():
    mdp = Turntable()
    errors = [
        measure_critic(mdp, train_critic(mdp, 2, True, updates=updates), 2, True, 3, 100)
        for updates in (1, 60, 60)
    ]
    assert errors[1].epsilon < errors[0].epsilon
    assert errors[1] == errors[2]
    assert errors[1].object_epsilon >= errors[1].epsilon
