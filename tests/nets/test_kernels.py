"""Kernels compute what the networks define, forward and backward."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from entity_sets import layout, random_sets  # noqa: E402

from jostle.core.entities import Entities  # noqa: E402
from jostle.nets import kernels  # noqa: E402
from jostle.nets.attention import Attention  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET, SMORL_NET, NetConfig  # noqa: E402
from jostle.nets.eit import EITActor, EITCritic  # noqa: E402
from jostle.nets.kernels import attention, small_attention, use_kernels  # noqa: E402
from jostle.nets.layers import MLP, LayerNorm  # noqa: E402
from jostle.nets.mlp import MLPActor, MLPCritic  # noqa: E402
from jostle.nets.relative_positions import RelativePositions, rel_pos_dim  # noqa: E402
from jostle.nets.smorl import SmorlActor, SmorlCritic  # noqa: E402
from jostle.nets.token_set import TokenSet  # noqa: E402


def with_grads(net, out, inputs):
    """The output, and the gradients of all inputs and weights that need one."""
    needed = [x for x in (*inputs, *net.parameters()) if x.requires_grad]
    generator = torch.Generator().manual_seed(7)
    weighted = (out * torch.randn(out.shape, generator=generator)).sum()
    return out, *torch.autograd.grad(weighted, needed)


def assert_same(these, those):
    for a, b in zip(these, those, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def layer_by_layer(net, x):
    for layer in net.layers[:-1]:
        x = layer(x).relu()
    return net.layers[-1](x)


@pytest.mark.parametrize("ensemble", [1, 2])
@pytest.mark.parametrize("sizes", [(5, 3), (5, 8, 2), (5, 8, 8, 8, 1)])
def test_a_fused_mlp_is_its_layers_one_by_one(ensemble, sizes):
    torch.manual_seed(0)
    net, x = MLP(sizes, ensemble), torch.randn(ensemble, 6, 4, 5, requires_grad=True)
    assert_same(with_grads(net, net(x), [x]), with_grads(net, layer_by_layer(net, x), [x]))


def test_a_fused_mlp_gives_one_input_to_all_networks():
    torch.manual_seed(0)
    net, x = MLP((5, 8, 2), 3), torch.randn(1, 6, 5, requires_grad=True)
    assert_same(with_grads(net, net(x), [x]), with_grads(net, layer_by_layer(net, x), [x]))


def test_a_fused_mlp_computes_no_gradients_of_frozen_weights():
    torch.manual_seed(0)
    net, x = MLP((5, 8, 2)), torch.randn(1, 6, 5, requires_grad=True)
    trainable = with_grads(net, net(x), [x])
    net.requires_grad_(False)
    assert_same(with_grads(net, net(x), [x]), trainable[:2])


@pytest.mark.parametrize("ensemble", [1, 2])
@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize("hidden", [True, False])
def test_small_attention_is_attention_by_matrix_products(ensemble, itself, hidden, monkeypatch):
    torch.manual_seed(0)
    net = Attention(16, 4, ensemble)
    query = torch.randn(ensemble, 6, 3, 16, requires_grad=True)
    context = query if itself else torch.randn(ensemble, 6, 5, 16, requires_grad=True)
    visible = torch.ones(6, context.shape[2], dtype=torch.bool)
    if hidden:
        visible[::2, 1:] = False
    inputs = [query] if itself else [query, context]
    calls = []
    attend = small_attention.attend
    monkeypatch.setattr(
        small_attention, "attend", lambda *arguments: calls.append(1) or attend(*arguments)
    )

    small = with_grads(net, net(query, context, visible)[0], inputs)
    assert calls == [1]
    monkeypatch.setattr(attention, "_SMALL", 0)
    large = with_grads(net, net(query, context, visible)[0], inputs)
    assert calls == [1]
    assert_same(small, large)
    with use_kernels(False):
        plain = with_grads(net, net(query, context, visible)[0], inputs)
    assert_same(small, plain)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("hidden", [True, False])
def test_small_attention_with_relative_positions_is_exact(hidden, masked):
    torch.manual_seed(0)
    net = Attention(16, 4, 2, rel_pos_dim(3)).double()
    query = torch.randn(2, 6, 3, 16, dtype=torch.float64, requires_grad=True)
    context = torch.randn(2, 6, 5, 16, dtype=torch.float64, requires_grad=True)
    places = [torch.randn(6, size, 2, dtype=torch.float64, requires_grad=True) for size in (3, 5)]
    visible = torch.ones(6, 5, dtype=torch.bool)
    if hidden:
        visible[::2, 1:] = False
    mask = (torch.rand(6, 3, 5) < 0.7).double() if masked else None

    def outputs():
        relative = (RelativePositions.between(*places, 3, mask),)
        return with_grads(net, net(query, context, visible, relative)[0], [query, context, *places])

    small = outputs()
    with use_kernels(False):
        plain = outputs()
    for a, b in zip(small, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_small_attention_computes_no_gradients_of_frozen_weights():
    torch.manual_seed(0)
    net, x = Attention(16, 4, 2), torch.randn(2, 6, 3, 16, requires_grad=True)
    visible = torch.ones(6, 3, dtype=torch.bool)
    trainable = with_grads(net, net(x, x, visible)[0], [x])
    net.requires_grad_(False)
    assert_same(with_grads(net, net(x, x, visible)[0], [x]), trainable[:2])


def test_layer_norms_of_an_ensemble_are_layer_norms():
    torch.manual_seed(0)
    norm, x = LayerNorm(5, 2), torch.randn(2, 6, 4, 5, requires_grad=True)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    normed = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    by_hand = normed * norm.weight[:, None, None] + norm.bias[:, None, None]
    assert_same(with_grads(norm, norm(x), [x]), with_grads(norm, by_hand, [x]))


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("keys", [3, 8, 20])
def test_every_size_of_sets_has_the_same_weights_with_and_without_kernels(keys, relative):
    torch.manual_seed(0)
    net = replace(FAST_NET, relative_positions=6 if relative else 0)
    actor = EITActor(net, layout(6), 1, 3)
    state, goal = random_sets((5, 1, keys), visible=0.6), random_sets((5, 1, keys), seed=1)
    state.visible[0] = False
    tokens = TokenSet.of(state), TokenSet.of(goal)
    kernel_features, kernel_weights = actor.trunk.pooled(*tokens)
    with use_kernels(False):
        features, weights = actor.trunk.pooled(*tokens)
    torch.testing.assert_close(kernel_features, features)
    torch.testing.assert_close(kernel_weights, weights)
    torch.testing.assert_close(actor.attention(state, goal), weights[0, :, :, 0].mean(1))


def test_kernels_are_on_by_default_on_the_cpu_only_and_a_switch_ends_with_its_block():
    x = torch.zeros(1)
    assert kernels.enabled(x)
    assert not kernels.enabled(x.to("meta"))
    with use_kernels(False):
        assert not kernels.enabled(x)
        with use_kernels(True):
            assert kernels.enabled(x)
        assert not kernels.enabled(x)
    assert kernels.enabled(x)


def test_an_error_turns_kernels_on_again():
    with pytest.raises(ValueError, match="failed"), use_kernels(False):
        raise ValueError("failed")
    assert kernels.enabled(torch.zeros(1))


def true_state(features: int, goals: int = 3) -> tuple[Entities, Entities]:
    """A gripper and three cubes, and their goals: all visible."""
    return (
        random_sets((20, 1, 4), features, visible=1.0),
        random_sets((20, 1, goals), features, visible=1.0, seed=1),
    )


def particles(features: int, goals: int = 14) -> tuple[Entities, Entities]:
    """Two views of particles, some of them visible; one state and one goal are empty."""
    state = random_sets((140, 2, 14), features, visible=0.55)
    goal = random_sets((140, 2, goals), features, visible=0.6, seed=1)
    state.visible[3] = False
    goal.visible[5] = False
    return state, goal


def eit(net: NetConfig, inputs):
    features, views = inputs[0].values.shape[-1], inputs[0].values.shape[1]
    columns = layout(features, net.table_xy)
    return EITActor(net, columns, views, 3), EITCritic(net, columns, views, 3)


def smorl(net: NetConfig, inputs):
    features, views = inputs[0].values.shape[-1], inputs[0].values.shape[1]
    return SmorlActor(net, features, views, 3), SmorlCritic(net, features, views, 3)


def mlp(net: NetConfig, inputs):
    size = sum(x.values[0].numel() for x in inputs)
    return MLPActor(net, size, 3), MLPCritic(net, size, 16, 3)


TABLE = replace(FAST_NET, table_xy=True, embed_mlp=(16,))
POSITIONED = replace(FAST_NET, action_token_position=True)
APART = replace(PAPER_NET, action_entity=False, goal_conditioning=False)
CASES = {
    "eit, fast, state": (eit, FAST_NET, true_state(9)),
    "eit, paper, state": (eit, PAPER_NET, true_state(9)),
    "eit, ablated, state": (eit, APART, true_state(9)),
    "eit, positioned action, state": (eit, POSITIONED, true_state(9)),
    "eit, fast, particles": (eit, FAST_NET, particles(11)),
    "eit, paper, particles": (eit, PAPER_NET, particles(11)),
    "eit, table, particles": (eit, TABLE, particles(11)),
    "smorl, state": (smorl, SMORL_NET, true_state(9, goals=1)),
    "smorl, particles": (smorl, SMORL_NET, particles(11, goals=1)),
    "mlp, state": (mlp, MLP_NET, true_state(9)),
    "mlp, particles": (mlp, MLP_NET, particles(11)),
}


@pytest.mark.parametrize("case", CASES)
def test_networks_without_kernels_agree_actions_values_and_gradients(case):
    make, net, (state, goal) = CASES[case]
    torch.manual_seed(0)
    actor, critic = make(net, (state, goal))

    weights = dict(torch.nn.ModuleList((actor, critic)).named_parameters())

    def outputs():
        action = actor(state, goal)
        value = critic(state, goal, action)  # (C, B)
        loss = (value * torch.linspace(-1, 1, value.numel()).view_as(value)).sum()
        grads = torch.autograd.grad(loss, list(weights.values()), materialize_grads=True)
        return action.detach(), value.detach(), *grads

    with use_kernels(False):
        plain = outputs()
    fast = outputs()
    for name, a, b in zip(("action", "value", *weights), plain, fast, strict=True):
        tolerance = 2e-5 * (float(b.abs().max()) + 1e-3)
        assert (a - b).abs().max() <= tolerance, name
