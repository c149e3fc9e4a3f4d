"""Critics with a value per object: read at its own token, whatever the order and the padding."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from jostle.core.entities import OBJECT_ID, POSITION, Entities, EntityLayout  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, NetConfig  # noqa: E402
from jostle.nets.eit import EITCritic  # noqa: E402
from jostle.nets.kernels import use_kernels  # noqa: E402

LAYOUT = EntityLayout(((POSITION, 2), (OBJECT_ID, 6)))
NET = replace(FAST_NET, values="per-entity")
BATCH, OBJECTS = 200, 4


def critic(net: NetConfig = NET) -> EITCritic:
    torch.manual_seed(0)
    return EITCritic(net, LAYOUT, 1, 3)


def sets(hide: float = 0.0, seed: int = 0) -> tuple[Entities, Entities, torch.Tensor]:
    """States with a gripper, goals and actions; every object is hidden with probability `hide`."""
    rng = torch.Generator().manual_seed(seed)
    visible = torch.rand(BATCH, 1, OBJECTS, generator=rng) >= hide
    visible[:, :, 0] |= ~visible.any(-1)
    goal = Entities(torch.randn(BATCH, 1, OBJECTS, 8, generator=rng), visible)
    values = torch.randn(BATCH, 1, 1 + OBJECTS, 8, generator=rng)
    gripper = torch.ones(BATCH, 1, 1, dtype=torch.bool)
    state = Entities(values, torch.cat((gripper, visible), dim=2))
    return state, goal, torch.rand(BATCH, 3, generator=rng) * 2 - 1


@pytest.mark.parametrize("hide", [0.0, 0.4])
@torch.no_grad()
def test_kernels_and_plain_mathematics_agree_in_every_slot(hide):
    net, inputs = critic(), sets(hide)
    fast = net(*inputs)
    with use_kernels(False):
        torch.testing.assert_close(fast, net(*inputs), atol=1e-5, rtol=1e-5)
    assert fast.shape == (2, BATCH, OBJECTS)
    hidden = ~inputs[1].visible[:, 0]
    assert (fast[:, hidden] == 0).all()
    assert (fast[:, ~hidden] != 0).all()


def test_states_that_show_no_object_have_no_values_and_no_gradients():
    """Half of the batch, so that such states fill buckets of their own."""
    net, (state, goal, action) = critic(), sets()
    visible = state.visible.clone()
    visible[: BATCH // 2, :, 1:] = False
    values = net(Entities(state.values, visible), goal, action)
    assert (values[:, : BATCH // 2] == 0).all()
    with use_kernels(False):
        plain = net(Entities(state.values, visible), goal, action)
    torch.testing.assert_close(values, plain, atol=1e-5, rtol=1e-5)
    values[:, : BATCH // 2].sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in net.parameters())


@torch.no_grad()
def test_values_follow_their_objects():
    net, (state, goal, action) = critic(), sets(0.3)
    order = torch.tensor([2, 0, 3, 1])
    with_gripper = torch.cat((torch.zeros(1, dtype=torch.long), 1 + order))
    moved = (
        Entities(state.values[:, :, with_gripper], state.visible[:, :, with_gripper]),
        Entities(goal.values[:, :, order], goal.visible[:, :, order]),
    )
    values = net(state, goal, action)
    torch.testing.assert_close(net(*moved, action), values[..., order], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_hidden_object_changes_nothing():
    net, (state, goal, action) = critic(), sets(0.5)
    values = net(state, goal, action)
    noise = torch.randn(state.values.shape) * ~state.visible[..., None]
    other = Entities(state.values + noise, state.visible)
    torch.testing.assert_close(net(other, goal, action), values)


@torch.no_grad()
def test_one_object_is_the_plain_case():
    """Objects that are cut off and objects that are hidden leave the same single value."""
    net, (state, goal, action) = critic(), sets(1.0)
    single = (
        Entities(state.values[:, :, :2], state.visible[:, :, :2]),
        Entities(goal.values[:, :, :1], goal.visible[:, :, :1]),
    )
    values = net(*single, action)  # (C, B, 1)
    padded = net(state, goal, action)  # (C, B, N)
    torch.testing.assert_close(padded[..., :1], values, atol=1e-5, rtol=1e-5)
    assert (padded[..., 1:] == 0).all()


def test_every_parameter_learns():
    net, inputs = critic(), sets()
    net(*inputs).square().sum().backward()
    unused = [name for name, weight in net.named_parameters() if weight.grad is None]
    assert unused == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arch": "mlp"}, "arch 'eit'"),
        ({"arch": "smorl"}, "arch 'eit'"),
        ({"critic_arch": "mlp"}, "critic_arch 'same'"),
        ({"action_entity": False}, "action_entity"),
        ({"values": "several"}, "'pooled' or 'per-entity'"),
    ],
)
def test_networks_without_a_token_per_object_are_refused(change, message):
    with pytest.raises(BadValueError, match=message):
        replace(replace(MLP_NET, arch="eit", values="per-entity"), **change)
