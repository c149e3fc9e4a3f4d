"""Token packing and length bucketing change the cost, and nothing else."""

from dataclasses import replace
from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from entity_sets import layout, random_sets  # noqa: E402

from jostle.nets.config import FAST_NET, PAPER_NET  # noqa: E402
from jostle.nets.eit import EITActor, EITCritic  # noqa: E402
from jostle.nets.kernels.packing import buckets, packed, take  # noqa: E402
from jostle.nets.token_set import TokenSet  # noqa: E402


def sets(visible: float = 0.5, batch: int = 6):
    return random_sets((batch, 2, 7), 6, visible, seed=int(100 * visible))


@pytest.mark.parametrize("visible", [0.0, 0.3, 0.8, 1.0])
def test_packing_keeps_visible_entities_their_views_and_their_order(visible):
    whole = sets(visible)
    tokens = packed(TokenSet.of(whole))
    assert tokens.values.shape[1] == max(int(whole.visible.sum((1, 2)).max()), 1)
    index = torch.arange(14)
    for b in range(6):
        before, after = whole.visible[b].flatten(), tokens.visible[b]
        assert (tokens.values[b][after] == whole.values[b].flatten(0, 1)[before]).all()
        assert (tokens.view[b][after] == index[before] // 7).all()


def test_packing_twice_is_packing_once():
    tokens = TokenSet.of(sets(0.5, batch=40))
    some = torch.tensor([3, 7, 8])
    for twice, once in zip(take(packed(tokens), some), take(tokens, some), strict=True):
        assert (twice == once).all()


@pytest.mark.parametrize("batch", [1, 63, 128, 300])
def test_buckets_split_a_batch_by_set_size(batch):
    tokens = TokenSet.of(sets(0.5, batch))
    parts = buckets(tokens)
    assert sorted(torch.cat(parts).tolist()) == list(range(batch))
    assert len(parts) == max(batch // 64, 1)
    sizes = [tokens.visible[part].sum(1) for part in parts]
    if len(parts) > 1:
        assert all(smaller.max() <= larger.min() for smaller, larger in pairwise(sizes))


def test_sets_of_equal_size_are_one_bucket():
    assert len(buckets(TokenSet.of(sets(1.0, 300)))) == 1


def test_sets_of_nearly_equal_size_are_one_bucket():
    entities = sets(1.0, 300)
    entities.visible[7, 0, 3] = False
    assert len(buckets(TokenSet.of(entities))) == 1


@pytest.mark.parametrize(
    "net",
    [FAST_NET, PAPER_NET, replace(FAST_NET, table_xy=True)],
    ids=["fast", "paper", "table xy"],
)
@pytest.mark.parametrize("batch", [6, 150])
@pytest.mark.parametrize("visible", [0.0, 0.3, 0.8, 1.0])
def test_packed_sets_give_the_same_actions_values_and_gradients(net, visible, batch, monkeypatch):
    torch.manual_seed(0)
    columns = layout(6, net.table_xy)
    actor, critic = EITActor(net, columns, 2, 3), EITCritic(net, columns, 2, 3)
    state, goal = sets(visible, batch), sets(0.6, batch)

    def outputs():
        for part in (actor, critic):
            part.zero_grad()
        action = actor(state, goal)
        value = critic(state, goal, action)
        value.square().mean().backward()
        return action, value, [weight.grad.clone() for weight in actor.parameters()]

    action, value, grads = outputs()
    monkeypatch.setattr("jostle.nets.kernels.packing.packed", lambda tokens: tokens)
    monkeypatch.setattr("jostle.nets.kernels.packing.buckets", lambda tokens: [torch.arange(batch)])
    whole_action, whole_value, whole_grads = outputs()
    torch.testing.assert_close(action, whole_action, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(value, whole_value, rtol=1e-4, atol=1e-5)
    for grad, whole_grad in zip(grads, whole_grads, strict=True):
        torch.testing.assert_close(grad, whole_grad, rtol=1e-3, atol=1e-4)
