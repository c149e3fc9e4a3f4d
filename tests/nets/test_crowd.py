"""Leaving out what nobody sees changes nothing but the cost."""

from dataclasses import replace
from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from jostle.core.entities import Entities  # noqa: E402
from jostle.nets.config import FAST_NET, PAPER_NET  # noqa: E402
from jostle.nets.crowd import Crowd, groups  # noqa: E402
from jostle.nets.eit import EITActor, EITCritic  # noqa: E402


def random_sets(visible_share: float = 0.5, batch: int = 6) -> Entities:
    rng = torch.Generator().manual_seed(int(100 * visible_share))
    values = torch.randn(batch, 2, 7, 5, generator=rng)
    return Entities(values, torch.rand(batch, 2, 7, generator=rng) < visible_share)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_packing_keeps_every_visible_entity_its_view_and_the_order(share):
    sets = random_sets(share)
    packed = Crowd.of(sets).packed()
    assert packed.values.shape[1] == max(int(sets.visible.sum((1, 2)).max()), 1)
    rows = torch.arange(14).expand(6, -1)
    for b in range(6):
        seen, kept = sets.visible[b].flatten(), packed.seen[b]
        assert (packed.values[b][kept] == sets.values[b].flatten(0, 1)[seen]).all()
        assert (packed.view[b][kept] == rows[b][seen] // 7).all()
        spread = packed.spread(packed.seen.float(), 14)[b]
        assert (spread == seen).all()


def test_packing_twice_is_packing_once():
    sets = Crowd.of(random_sets(0.5, batch=40))
    few = torch.tensor([3, 7, 8])
    for one, two in zip(sets.packed().part(few), sets.part(few), strict=True):
        assert (one == two).all()


@pytest.mark.parametrize("batch", [1, 63, 128, 300])
def test_groups_share_out_the_batch_by_size(batch):
    crowd = Crowd.of(random_sets(0.5, batch))
    parts = groups(crowd)
    assert sorted(torch.cat(parts).tolist()) == list(range(batch))
    assert len(parts) == max(batch // 64, 1)
    sizes = [crowd.seen[part].sum(1) for part in parts]
    if len(parts) > 1:
        assert all(one.max() <= two.min() for one, two in pairwise(sizes))


def test_sets_of_one_size_are_one_group():
    assert len(groups(Crowd.of(random_sets(1.0, 300)))) == 1


@pytest.mark.parametrize(
    "net", [FAST_NET, PAPER_NET, replace(FAST_NET, ground=True)], ids=["fast", "paper", "ground"]
)
@pytest.mark.parametrize("batch", [6, 150])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_packed_sets_give_the_same_actions_values_and_gradients(net, share, batch, monkeypatch):
    torch.manual_seed(0)
    actor, critic = EITActor(net, 5, 2, 3), EITCritic(net, 5, 2, 3)
    state, goal = random_sets(share, batch), random_sets(0.6, batch)

    def judged():
        for part in (actor, critic):
            part.zero_grad()
        action = actor(state, goal)
        value = critic(state, goal, action)
        value.square().mean().backward()
        return action, value, [weight.grad.clone() for weight in actor.parameters()]

    packed = judged()
    monkeypatch.setattr(Crowd, "packed", lambda crowd: crowd)
    monkeypatch.setattr("jostle.nets.eit.groups", lambda crowd: [torch.arange(batch)])
    whole = judged()
    torch.testing.assert_close(packed[0], whole[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(packed[1], whole[1], rtol=1e-4, atol=1e-5)
    for one, two in zip(packed[2], whole[2], strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)
