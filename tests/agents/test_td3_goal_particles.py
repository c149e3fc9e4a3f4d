"""TD3 with a value per goal particle: only particles of objects count, an object counts once."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.networks import ObservationSpec  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.agents.values import mean_over_objects  # noqa: E402
from jostle.core.entities import (  # noqa: E402
    FEATURES,
    POSITION,
    TABLE_XY,
    Entities,
    EntityLayout,
)
from jostle.nets.config import FAST_NET  # noqa: E402
from jostle.replay.batch import Batch, GoalTransition, Potential  # noqa: E402
from jostle.replay.transition_rewards import per_particle  # noqa: E402

LAYOUT = EntityLayout(((POSITION, 2), (FEATURES, 4), (TABLE_XY, 2)))
SHAPE, OBJECTS, GAMMA = (2, 4, 8), 2, 0.95
NET = replace(FAST_NET, values="per-entity", table_xy=True, embed_dim=32)


def make_agent(**options) -> TD3Agent:
    config = TD3Config(
        gamma=GAMMA, target_update="actor-step", batch_size=32, self_imitation_weight=2.0,
        potential_baseline=True, **options,
    )  # fmt: skip
    spec = ObservationSpec(state=SHAPE, goal=SHAPE, layout=LAYOUT)
    return TD3Agent(NET, config, spec, 0)


def random_sets(size: int, rng: np.random.Generator) -> Entities:
    values = torch.from_numpy(rng.standard_normal((size, *SHAPE), np.float32))
    return Entities(values, torch.from_numpy(rng.random((size, *SHAPE[:2])) < 0.7))


def random_batch(size: int = 32, seed: int = 0) -> Batch:
    """Random transitions; goal particles lie on one of two objects, or on none."""
    rng = np.random.default_rng(seed)
    state, goal, after = (random_sets(size, rng) for _ in range(3))
    ties = np.where(goal.visible.numpy(), rng.integers(-1, OBJECTS, (size, *SHAPE[:2])), -1)
    ties = ties.astype(np.int8)
    parts = [per_particle(-rng.random((size, OBJECTS), np.float32), ties) for _ in range(3)]
    reward, now, later = (torch.from_numpy(values) for values, _ in parts)
    seen = GoalTransition(state, goal, after)
    action = torch.from_numpy(rng.uniform(-1, 1, (size, 3)).astype(np.float32))
    discount = torch.full((size,), GAMMA)
    weights = torch.from_numpy(parts[0][1])
    return Batch(seen, seen, action, reward, discount, Potential(now, later), weights)


def updates(agent: TD3Agent, batch: Batch, count: int = 4) -> dict[str, torch.Tensor]:
    for _ in range(count):
        log = agent.update(batch)
    return log


def test_an_object_with_three_particles_counts_once():
    ties = np.array([[[0, 0], [0, 1]]], np.int8)
    values, weights = per_particle(np.array([[-1.0, -3.0]], np.float32), ties)
    assert values.tolist() == [[-1.0, -1.0, -1.0, -3.0]]
    mean = mean_over_objects(torch.from_numpy(values), torch.from_numpy(weights))
    assert mean.item() == pytest.approx(-2.0)


def test_a_goal_without_a_single_tied_particle_teaches_nothing():
    batch = random_batch()
    assert batch.present is not None
    silent = batch._replace(present=torch.zeros_like(batch.present))
    agent = make_agent()
    before = [weight.clone() for weight in agent.critics.parameters()]
    log = updates(agent, silent)
    assert log["critic_loss"] == log["q_mean"] == 0
    assert all(torch.equal(*pair) for pair in zip(before, agent.critics.parameters(), strict=True))
    mixed = batch._replace(present=batch.present * (torch.arange(32) % 2)[:, None])
    assert all(torch.isfinite(value) for value in updates(agent, mixed).values())


def test_rewards_of_particles_that_lie_on_no_object_do_not_matter():
    batch, logs = random_batch(), []
    for garbage in (0.0, 1e3):
        changed = batch._replace(reward=batch.reward - garbage * (batch.present == 0))
        logs.append(updates(make_agent(), changed))
    assert logs[0] == logs[1]


def test_the_order_of_particles_changes_an_update_by_rounding_only():
    batch, order = random_batch(), torch.tensor([2, 0, 3, 1])
    slots = torch.cat((order, 4 + order))
    seen = GoalTransition(
        *(Entities(part.values[:, :, order], part.visible[:, :, order]) for part in batch.actor)
    )
    assert batch.potential is not None
    assert batch.present is not None
    moved = Batch(
        seen, seen, batch.action, batch.reward[:, slots], batch.discount,
        Potential(*(values[:, slots] for values in batch.potential)), batch.present[:, slots],
    )  # fmt: skip
    logs = [updates(make_agent(), each) for each in (batch, moved)]
    first, second = (torch.stack([log[name] for name in sorted(log)]) for log in logs)
    torch.testing.assert_close(first, second, atol=1e-4, rtol=1e-3)


def test_the_critics_learn_the_reward_of_each_object():
    """With a discount near zero the value of a particle is the reward of its object."""
    agent, batch = make_agent(), random_batch(64)
    plain = batch._replace(potential=None, discount=torch.zeros(64))
    losses = [agent.update(plain)["critic_loss"] for _ in range(150)]
    assert losses[-1] < 0.2 * losses[0]


def test_bfloat16_learns_nearly_the_same():
    means = [updates(make_agent(precision=p), random_batch())["q_mean"] for p in ("full", "bf16")]
    assert means[0] != means[1]
    torch.testing.assert_close(means[0], means[1].float(), atol=0.05, rtol=0.05)


def test_a_restored_agent_continues_bit_for_bit():
    agents = [make_agent(), make_agent()]
    updates(agents[0], random_batch())
    agents[1].load_state_dict(*agents[0].state_dict())
    assert agents[0].update(random_batch(seed=9)) == agents[1].update(random_batch(seed=9))
