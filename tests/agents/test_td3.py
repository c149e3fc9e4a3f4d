"""TD3: the update does what the paper says, and learns."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from batches import make_agent, random_batch  # noqa: E402

from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.agents.values import td_target  # noqa: E402
from jostle.agents.weights import net_tensors  # noqa: E402
from jostle.core.errors import BadValueError, NotFiniteError  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET  # noqa: E402
from jostle.replay.batch import Potential  # noqa: E402


@pytest.mark.parametrize("net", [FAST_NET, MLP_NET, replace(FAST_NET, critic_arch="mlp")])
def test_the_actor_finds_the_action_with_the_highest_reward(net):
    agent = make_agent(
        net, gamma=0.01, action_penalty=0.0, lr=3e-4, critic_lr=2e-3, reward_min=-9.0
    )
    best = torch.tensor((0.5, -0.5, 0.2))
    for seed in range(400):
        agent.update(random_batch(64, seed, lambda action: -((action - best) ** 2).sum(-1)))
    state, goal, _ = random_batch(64, 999).actor
    assert np.abs(agent.act(state, goal) - best.numpy()).mean() < 0.2


def test_bfloat16_learns_nearly_the_same_and_leaves_weights_in_full_precision():
    logs = {}
    for precision in ("full", "bf16"):
        agent = make_agent(PAPER_NET, precision=precision)
        for seed in range(6):
            logs[precision] = agent.update(random_batch(32, seed))
        tensors = net_tensors(agent, ("actor", "critics", "target_actor", "target_critics"))
        assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    full, rounded = (logs[name]["q_mean"].float() for name in ("full", "bf16"))
    assert full != rounded
    torch.testing.assert_close(full, rounded, atol=0.05, rtol=0.05)
    with pytest.raises(ValueError, match="bf16, not 'half'"):
        make_agent(precision="half")


def test_targets_are_clipped_to_what_rewards_allow():
    assert TD3Config().q_min == pytest.approx(-100)
    agent = make_agent(gamma=0.9)
    for seed in range(40):
        log = agent.update(random_batch(32, seed, lambda a: torch.full((len(a),), -50.0)))
    assert log["q_mean"] > agent.config.q_min * 1.5


def test_gains_and_the_potential_add_up_to_values():
    batch, rng = random_batch(64), torch.Generator().manual_seed(1)
    now, later = (-torch.rand(64, generator=rng) * 60 for _ in range(2))  # some below q_min
    gains = torch.randn(64, generator=rng)
    values = td_target(batch, later + gains, q_min=-50.0)
    shaped = batch._replace(potential=Potential(now, later))
    torch.testing.assert_close(td_target(shaped, gains, q_min=-50.0) + now, values)


def test_where_nothing_moves_nothing_is_gained():
    reward = -torch.rand(64)
    potential = Potential(reward / 0.02, reward / 0.02)
    still = random_batch(64)._replace(reward=reward, potential=potential)
    target = td_target(still, torch.zeros(64), q_min=-100.0)
    torch.testing.assert_close(target, torch.zeros(64), atol=1e-4, rtol=0)


def test_the_actor_moves_only_at_every_second_update():
    agent = make_agent()
    before = [weight.clone() for weight in agent.actor.parameters()]
    agent.update(random_batch())
    assert all((a == b).all() for a, b in zip(before, agent.actor.parameters(), strict=True))
    log = agent.update(random_batch())
    assert "actor_loss" in log
    assert any((a != b).any() for a, b in zip(before, agent.actor.parameters(), strict=True))


def test_target_networks_move_once_per_iteration_by_tau():
    agent = make_agent()
    for seed in range(4):
        agent.update(random_batch(32, seed))
    pairs = list(zip(agent.target_critics.parameters(), agent.critics.parameters(), strict=True))
    before = [target.clone() for target, _ in pairs]
    agent.update(random_batch(32, 9))
    assert all((old == target).all() for old, (target, _) in zip(before, pairs, strict=True))
    agent.end_iteration()
    for old, (target, source) in zip(before, pairs, strict=True):
        torch.testing.assert_close(target, old + 0.05 * (source - old))


def test_normalization_is_shared_and_not_part_of_the_target_networks():
    agent = make_agent()
    assert not any("normalizer" in name for name, _ in agent.target_actor.named_modules())
    assert agent.critic_normalizer is agent.normalizer
    agent.normalizer.update(random_batch().actor.state)
    assert agent.normalizer.count > 1


def test_a_loss_that_is_not_finite_stops_learning():
    agent = make_agent()
    with pytest.raises(NotFiniteError, match="last good checkpoint"):
        agent.update(random_batch(32, 0, lambda action: torch.full((len(action),), torch.nan)))


def test_warm_up_keeps_the_actor_and_behavior_cloning_keeps_it_near():
    warming = make_agent(critic_warmup_updates=9, target_update="actor-step")
    cloning, free = make_agent(bc_weight=1e4), make_agent()
    targets_before = deepcopy(warming.target_critics)
    actor_before = deepcopy(free.actor.state_dict())
    for seed in range(8):
        for agent in (warming, cloning, free):
            agent.update(random_batch(32, seed))

    def change(agent: TD3Agent) -> float:
        state, goal, _ = random_batch(64, 99).actor
        initial = make_agent()
        initial.actor.load_state_dict(actor_before)
        return float(np.abs(agent.act(state, goal) - initial.act(state, goal)).mean())

    assert change(warming) == 0.0
    pairs = zip(targets_before.parameters(), warming.target_critics.parameters(), strict=True)
    assert all((old != new).any() for old, new in pairs), "target critics keep moving"
    assert 0 < change(cloning) < 0.5 * change(free)


@pytest.mark.parametrize("better", [True, False])
def test_self_imitation_copies_better_actions_and_no_others(better):
    agent = make_agent(self_imitation_weight=1.0, action_penalty=0.0)
    with torch.no_grad():
        for weight in agent.critics.parameters():
            weight.zero_()  # every action has the value 0
    batch = random_batch(64)
    state, goal, _ = batch.actor
    q = torch.full((64,), 1.0 if better else -1.0)
    before = agent.act(state, goal)
    for _ in range(400):
        observed, _ = agent._normalized(batch)
        agent._update_actor(observed, observed, batch, q)
    after = agent.act(state, goal)
    if better:
        errors = [np.abs(actions - batch.action.numpy()).mean() for actions in (before, after)]
        assert errors[1] < 0.3 * errors[0]
    else:
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["bc_weight", "self_imitation_weight"])
def test_weights_of_imitation_are_not_negative(name):
    with pytest.raises(BadValueError, match=f"{name} must not be negative"):
        TD3Config(**{name: -1.0})


def test_the_target_actor_can_act_and_is_saved_as_the_actor():
    agent, plain = make_agent(act_with="target", tau=0.1), make_agent(tau=0.1)
    for seed in range(6):
        for learner in (agent, plain):
            learner.update(random_batch(32, seed))
    state, goal, _ = random_batch(8, 99).actor
    with torch.no_grad():
        target, current = agent.target_actor(state, goal), agent.actor(state, goal)
    expected = agent.act(state, goal)
    np.testing.assert_allclose(expected, target, atol=1e-5)
    np.testing.assert_allclose(plain.act(state, goal), current, atol=1e-5)
    assert (target - current).abs().max() > 1e-3, "the two actors differ"
    torch.testing.assert_close(plain.target_actor.state_dict(), agent.target_actor.state_dict())

    # Whoever loads the weights acts in the same way, whatever acts there
    for act_with in ("actor", "target"):
        loaded = make_agent(seed=3, act_with=act_with)
        loaded.load_weights(agent.acting_tensors())
        np.testing.assert_array_equal(loaded.act(state, goal), expected)
    with pytest.raises(BadValueError, match="'actor' or 'target'"):
        make_agent(act_with="mean")
