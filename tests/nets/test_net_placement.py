"""Networks run on the device of their inputs: every tensor they make is there."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from entity_sets import layout  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from jostle.core.entities import Entities  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET, SMORL_NET  # noqa: E402
from jostle.nets.eit import EITActor, EITCritic  # noqa: E402
from jostle.nets.mlp import MLPActor, MLPCritic  # noqa: E402
from jostle.nets.normalize import Normalizer  # noqa: E402
from jostle.nets.smorl import SmorlActor, SmorlCritic  # noqa: E402

DEVICE = torch.device("meta")
FEATURES, BATCH = 9, 4


def eit(net, views, count):
    del count
    columns = layout(FEATURES, net.table_xy)
    return EITActor(net, columns, views, 3), EITCritic(net, columns, views, 3)


def smorl(net, views, count):
    del count
    return SmorlActor(net, FEATURES, views, 3), SmorlCritic(net, FEATURES, views, 3)


def mlp(net, views, count):
    size = 2 * views * count * FEATURES
    return MLPActor(net, size, 3), MLPCritic(net, size, 16, 3)


CASES = {
    "eit, paper, state": (eit, PAPER_NET, 1, 4),
    "eit, fast, state": (eit, FAST_NET, 1, 4),
    "eit, fast, particles": (eit, FAST_NET, 2, 24),
    "eit, table, particles": (eit, replace(FAST_NET, table_xy=True, embed_mlp=(8,)), 2, 24),
    "eit, values of goal particles": (
        eit, replace(FAST_NET, table_xy=True, values="per-entity"), 2, 24,
    ),
    "eit, positioned action": (eit, replace(FAST_NET, action_token_position=True), 1, 4),
    "eit, appended action": (eit, replace(FAST_NET, action_entity=False), 1, 4),
    "smorl": (smorl, SMORL_NET, 2, 4),
    "mlp": (mlp, MLP_NET, 1, 4),
}  # fmt: skip


def entities(views: int, count: int) -> Entities:
    values = torch.empty(BATCH, views, count, FEATURES, device=DEVICE)
    return Entities(values, torch.ones(BATCH, views, count, dtype=torch.bool, device=DEVICE))


@pytest.mark.parametrize("case", CASES)
def test_a_training_step_runs_on_another_device(case):
    make, net, views, count = CASES[case]
    with FakeTensorMode():
        with DEVICE:
            actor, critic = make(net, views, count)
            normalizer = Normalizer(FEATURES, num_raw=2)
        optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()])
        goals = 1 if make is smorl else count
        state, goal = normalizer(entities(views, count)), normalizer(entities(views, goals))

        action = actor(state, goal)
        value = critic(state, goal, action)
        assert action.shape == (BATCH, 3)
        assert value.shape == (2, BATCH, views * count)[: value.dim()]
        assert value.dim() == 2 + (net.values == "per-entity")
        assert action.device == value.device == DEVICE
        value.square().mean().backward()
        assert all(w.grad is not None and w.grad.device == DEVICE for w in actor.parameters())
        optimizer.step()


def test_pooling_weights_are_on_the_device_of_the_entities():
    with FakeTensorMode():
        with DEVICE:
            actor = EITActor(FAST_NET, layout(FEATURES), 2, 3)
        weights = actor.attention(entities(2, 24), entities(2, 24))
        assert weights.shape == (BATCH, 48)
        assert weights.device == DEVICE


def test_a_tensor_on_another_device_is_noticed():
    with FakeTensorMode():
        with DEVICE:
            actor = EITActor(FAST_NET, layout(FEATURES), 1, 3)
        state = entities(1, 4)
        elsewhere = Entities(state.values, torch.ones(BATCH, 1, 4, dtype=torch.bool))
        with pytest.raises(RuntimeError, match="device"):
            actor(elsewhere, state)
