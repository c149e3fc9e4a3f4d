"""Critics of particles with a value per goal particle: goals are the queries of the pooling."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from entity_sets import layout, random_sets  # noqa: E402

from jostle.core.entities import FEATURES, OBJECT_ID, POSITION, Entities, EntityLayout  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET, NetConfig  # noqa: E402
from jostle.nets.eit import EITCritic, EITValue  # noqa: E402
from jostle.nets.kernels import use_kernels  # noqa: E402

NET = replace(FAST_NET, values="per-entity", embed_dim=32)
TABLE = replace(NET, table_xy=True)
FEATURE_COUNT, VIEWS, COUNT = 8, 2, 6
NETS = pytest.mark.parametrize(
    "net", [NET, TABLE, replace(NET, relative_positions=0)], ids=["image", "table", "none"]
)


def critic(net: NetConfig = TABLE, views: int = VIEWS) -> EITCritic:
    torch.manual_seed(0)
    return EITCritic(net, layout(FEATURE_COUNT, net.table_xy), views, 3)


def sets(batch: int = 5, visible: float = 0.6, views: int = VIEWS):
    """States, goals and actions."""
    state = random_sets((batch, views, COUNT), FEATURE_COUNT, visible, seed=1)
    goal = random_sets((batch, views, COUNT), FEATURE_COUNT, 0.5, seed=2)
    rng = torch.Generator().manual_seed(3)
    return state, goal, torch.rand(batch, 3, generator=rng) * 2 - 1


def reordered(entities: Entities, order: torch.Tensor) -> Entities:
    """Other places within each view, (V, K)."""
    view = torch.arange(len(order))[:, None]
    return entities.map(lambda x: x[:, view, order])


ORDER = torch.stack(
    [torch.randperm(COUNT, generator=torch.Generator().manual_seed(v)) for v in (5, 6)]
)


@NETS
@torch.no_grad()
def test_the_order_of_state_particles_changes_nothing(net):
    (state, goal, action), values_of = sets(), critic(net)
    values = values_of(state, goal, action)
    assert values.shape == (2, 5, VIEWS * COUNT)
    torch.testing.assert_close(
        values_of(reordered(state, ORDER), goal, action), values, atol=1e-5, rtol=1e-5
    )


@NETS
@torch.no_grad()
def test_values_follow_their_goal_particles(net):
    (state, goal, action), values_of = sets(), critic(net)
    values = values_of(state, goal, action).unflatten(-1, (VIEWS, COUNT))
    moved = values_of(state, reordered(goal, ORDER), action).unflatten(-1, (VIEWS, COUNT))
    view = torch.arange(VIEWS)[:, None]
    torch.testing.assert_close(moved, values[..., view, ORDER], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_hidden_particles_change_nothing_and_have_no_value():
    (state, goal, action), values_of = sets(), critic()
    values = values_of(state, goal, action)
    for hidden, shown in ((state, goal), (goal, state)):
        noise = torch.randn(hidden.values.shape) * ~hidden.visible[..., None]
        other = Entities(hidden.values + noise, hidden.visible)
        inputs = (other, shown) if hidden is state else (shown, other)
        torch.testing.assert_close(values_of(*inputs, action), values)
    visible = goal.visible.flatten(1)
    assert (values[:, ~visible] == 0).all()
    assert (values[:, visible] != 0).all()


@NETS
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize(("batch", "visible"), [(5, 0.6), (150, 0.4), (5, 0.0), (5, 1.0)])
def test_packing_and_kernels_change_neither_values_nor_gradients(net, views, batch, visible):
    """Without kernels nothing is packed: sets have a fixed size."""
    state, goal, action = sets(batch, visible, views)
    results = []
    for fast in (True, False):
        values_of, chosen = critic(net, views), action.clone().requires_grad_()
        with use_kernels(fast):
            values = values_of(state, goal, chosen)
            values.square().mean().backward()
        weights = torch.cat([weight.grad.flatten() for weight in values_of.parameters()])
        results.append((values.detach(), chosen.grad, weights))
    for kernel, plain in zip(*results, strict=True):
        torch.testing.assert_close(kernel, plain, atol=1e-5, rtol=1e-4)


def test_every_parameter_learns():
    net = critic()
    net(*sets()).square().sum().backward()
    assert [name for name, weight in net.named_parameters() if weight.grad is None] == []


def test_a_value_depends_on_its_own_goal_particle_most():
    """At first already: queries and keys are tied."""
    (state, goal, action), values_of = sets(40), critic()
    particles = goal.values.clone().requires_grad_()
    values = values_of(state, Entities(particles, torch.ones_like(goal.visible)), action)
    values[0, :, 0].sum().backward()
    change = particles.grad.norm(dim=-1).flatten(1).mean(0)  # (V*K,)
    assert change[0] > 2 * change[1:].max()


@pytest.mark.parametrize(
    ("columns", "views"),
    [
        (EntityLayout(((FEATURES, 8),)), 2),  # slots and vectors: no position, no true object
        (EntityLayout(((POSITION, 2),)), 1),  # no identity
        (EntityLayout(((POSITION, 2), (OBJECT_ID, 6))), 2),
    ],
)
def test_other_entities_are_refused(columns, views):
    net = replace(NET, relative_positions=0)
    with pytest.raises(BadValueError, match="td3-privileged"):
        EITCritic(net, columns, views, 3)


def test_state_values_of_goal_particles_are_refused():
    with pytest.raises(BadValueError, match="iql-privileged"):
        EITValue(TABLE, layout(FEATURE_COUNT, True), VIEWS)
