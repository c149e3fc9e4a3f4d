"""TD3 with a value per object: targets, losses and the actor are means over present objects."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.networks import ObservationSpec  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.agents.values import mean_over_objects, td_target  # noqa: E402
from jostle.core.entities import OBJECT_ID, POSITION, Entities, EntityLayout  # noqa: E402
from jostle.nets.config import FAST_NET  # noqa: E402
from jostle.replay.batch import Batch, GoalTransition, Potential  # noqa: E402

LAYOUT = EntityLayout(((POSITION, 2), (OBJECT_ID, 4)))
GAMMA, OBJECTS = 0.95, 3
NET = replace(FAST_NET, values="per-entity")


def make_agent(**options) -> TD3Agent:
    config = TD3Config(gamma=GAMMA, target_update="actor-step", batch_size=32, **options)
    shapes = {"state": (1, 1 + OBJECTS, 6), "goal": (1, OBJECTS, 6)}
    return TD3Agent(NET, config, ObservationSpec(layout=LAYOUT, **shapes), 0)


def random_batch(size: int = 32, seed: int = 0, present: torch.Tensor | None = None) -> Batch:
    """Random transitions with a reward per object; absent objects are zeros and not visible."""
    rng = torch.Generator().manual_seed(seed)
    present = torch.ones(size, OBJECTS, dtype=torch.bool) if present is None else present
    gripper = torch.ones(size, 1, dtype=torch.bool)

    def entities(visible: torch.Tensor) -> Entities:
        values = torch.randn(size, 1, visible.shape[1], 6, generator=rng)
        return Entities(values * visible[:, None, :, None], visible[:, None])

    whole = torch.cat((gripper, present), 1)
    seen = GoalTransition(entities(whole), entities(present), entities(whole))
    action = torch.rand(size, 3, generator=rng) * 2 - 1
    reward, *potential = (-torch.rand(size, OBJECTS, generator=rng) * present for _ in range(3))
    discount = torch.full((size,), GAMMA)
    return Batch(seen, seen, action, reward, discount, Potential(*potential), present)


@pytest.mark.parametrize("distance", [0.0, 0.1, 1.0, 2.0, 5.4])
def test_an_object_that_does_not_move_gains_nothing_at_any_distance(distance):
    """With the reward's own minimum as floor, fallen objects included."""
    reward = torch.full((8, OBJECTS), -distance)
    potential = Potential(*(reward / (1 - GAMMA) for _ in range(2)))
    still = random_batch(8)._replace(reward=reward, potential=potential)
    target = td_target(still, torch.zeros(8, OBJECTS), q_min=-5.5 / (1 - GAMMA))
    torch.testing.assert_close(target, torch.zeros(8, OBJECTS), atol=1e-4, rtol=0)


def test_absent_objects_do_not_enter_the_mean():
    present = torch.tensor([[True, True, False], [True, False, False]])
    values = torch.tensor([[1.0, 3.0, 100.0], [5.0, 100.0, 100.0]])
    assert mean_over_objects(values, present).tolist() == [2.0, 5.0]
    assert mean_over_objects(values, None) is values


def test_an_update_does_not_depend_on_what_absent_objects_hold():
    present = torch.rand(32, OBJECTS, generator=torch.Generator().manual_seed(1)) < 0.6
    present[:, 0] = True
    batch, logs, weights = random_batch(present=present), [], []
    for garbage in (0.0, 1e3):
        agent = make_agent(self_imitation_weight=2.0, potential_baseline=True)
        changed = batch._replace(reward=batch.reward - garbage * ~present)
        for _ in range(4):
            logs.append(agent.update(changed))
        weights.append(torch.cat([w.flatten() for w in agent.actor.parameters()]))
    assert logs[3] == logs[7]
    assert torch.equal(*weights)


def test_the_order_of_objects_changes_an_update_by_rounding_only():
    batch, order = random_batch(), torch.tensor([2, 0, 1])
    slots = torch.cat((torch.zeros(1, dtype=torch.long), 1 + order))

    def reordered(seen: GoalTransition) -> GoalTransition:
        return GoalTransition(
            *(
                Entities(entities.values[:, :, index], entities.visible[:, :, index])
                for entities, index in zip(seen, (slots, order, slots), strict=True)
            )
        )

    seen = reordered(batch.actor)
    assert batch.potential is not None
    potential = Potential(*(values[:, order] for values in batch.potential))
    moved = Batch(
        seen, seen, batch.action, batch.reward[:, order], batch.discount, potential, batch.present
    )
    logs = []
    for each in (batch, moved):
        agent = make_agent(self_imitation_weight=2.0, potential_baseline=True)
        for _ in range(4):
            log = agent.update(each)
        logs.append(torch.stack([log[name] for name in sorted(log)]))
    torch.testing.assert_close(*logs, atol=1e-4, rtol=1e-3)


def test_bfloat16_learns_nearly_the_same():
    means = []
    for precision in ("full", "bf16"):
        agent = make_agent(precision=precision)
        for seed in range(6):
            log = agent.update(random_batch(seed=seed))
        means.append(log["q_mean"].float())
    assert means[0] != means[1]
    torch.testing.assert_close(*means, atol=0.05, rtol=0.05)


def test_a_restored_agent_continues_bit_for_bit():
    agents = [make_agent(), make_agent()]
    for seed in range(4):
        agents[0].update(random_batch(seed=seed))
    agents[1].load_state_dict(*agents[0].state_dict())
    logs = [agent.update(random_batch(seed=9)) for agent in agents]
    assert logs[0] == logs[1]
