"""Passes that are written out, forward and back, do what torch does by itself."""

import pytest

torch = pytest.importorskip("torch")

from jostle.nets import attention, few  # noqa: E402
from jostle.nets.attention import Attention  # noqa: E402
from jostle.nets.layers import MLP, LayerNorm  # noqa: E402


def slopes(net, out, inputs):
    """The output and the slopes of everything that wants one."""
    wanted = [one for one in (*inputs, *net.parameters()) if one.requires_grad]
    generator = torch.Generator().manual_seed(7)
    weighed = (out * torch.randn(out.shape, generator=generator)).sum()
    return out, *torch.autograd.grad(weighed, wanted)


def same(one, two):
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def layer_by_layer(net, x):
    for layer in net.layers[:-1]:
        x = layer(x).relu()
    return net.layers[-1](x)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("widths", [(5, 3), (5, 8, 2), (5, 8, 8, 8, 1)])
def test_a_chain_is_its_layers_one_by_one(copies, widths):
    torch.manual_seed(0)
    net, x = MLP(widths, copies), torch.randn(copies, 6, 4, 5, requires_grad=True)
    same(slopes(net, net(x), [x]), slopes(net, layer_by_layer(net, x), [x]))


def test_a_chain_hands_one_input_to_all_copies():
    torch.manual_seed(0)
    net, x = MLP((5, 8, 2), 3), torch.randn(1, 6, 5, requires_grad=True)
    same(slopes(net, net(x), [x]), slopes(net, layer_by_layer(net, x), [x]))


def test_a_chain_leaves_frozen_weights_without_slopes():
    torch.manual_seed(0)
    net, x = MLP((5, 8, 2)), torch.randn(1, 6, 5, requires_grad=True)
    free = slopes(net, net(x), [x])
    net.requires_grad_(False)
    same(slopes(net, net(x), [x]), free[:2])


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize("hidden", [True, False])
def test_few_attend_as_many_do(copies, itself, hidden, monkeypatch):
    torch.manual_seed(0)
    net = Attention(16, 4, copies)
    to = torch.randn(copies, 6, 3, 16, requires_grad=True)
    of = to if itself else torch.randn(copies, 6, 5, 16, requires_grad=True)
    visible = torch.ones(6, of.shape[2], dtype=torch.bool)
    if hidden:
        visible[::2, 1:] = False
    inputs = [to] if itself else [to, of]
    called = []
    monkeypatch.setattr(
        few, "attend", lambda *given, way=few.attend: called.append(1) or way(*given)
    )

    by_few = slopes(net, net(to, of, visible)[0], inputs)
    assert called == [1]
    monkeypatch.setattr(attention, "_FEW", 0)
    by_many = slopes(net, net(to, of, visible)[0], inputs)
    assert called == [1]
    same(by_few, by_many)


def test_few_attend_without_slopes_of_frozen_weights():
    torch.manual_seed(0)
    net, x = Attention(16, 4, 2), torch.randn(2, 6, 3, 16, requires_grad=True)
    visible = torch.ones(6, 3, dtype=torch.bool)
    free = slopes(net, net(x, x, visible)[0], [x])
    net.requires_grad_(False)
    same(slopes(net, net(x, x, visible)[0], [x]), free[:2])


def test_copies_of_a_norm_are_norms():
    torch.manual_seed(0)
    norm, x = LayerNorm(5, 2), torch.randn(2, 6, 4, 5, requires_grad=True)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    plain = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    by_hand = plain * norm.weight[:, None, None] + norm.bias[:, None, None]
    same(slopes(norm, norm(x), [x]), slopes(norm, by_hand, [x]))
