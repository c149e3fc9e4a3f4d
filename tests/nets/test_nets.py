"""Networks: the paper's sizes, and the laws of sets."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from jostle.core.entities import Entities  # noqa: E402
from jostle.nets.attention import Attention  # noqa: E402
from jostle.nets.bearings import Bearings, width  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET, SMORL_NET, NetConfig  # noqa: E402
from jostle.nets.eit import EITActor, EITCritic  # noqa: E402
from jostle.nets.mlp import MLPActor, MLPCritic  # noqa: E402
from jostle.nets.normalize import Normalizer  # noqa: E402
from jostle.nets.smorl import SmorlActor, SmorlCritic  # noqa: E402

NETS = {
    "paper": PAPER_NET,
    "fast": FAST_NET,
    "deep": NetConfig(rounds=2, width=32, heads=4, embed_hidden=(16,)),
    "ground": replace(FAST_NET, ground=True),
}


def size(net) -> int:
    return sum(weight.numel() for weight in net.parameters())


def sets(batch: int, views: int, count: int, features: int = 6, seed: int = 0) -> Entities:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(batch, views, count, features, generator=generator)
    visible = torch.rand(batch, views, count, generator=generator) > 0.3
    visible[..., 0] = True
    return Entities(values, visible)


@pytest.mark.parametrize(
    ("features", "views", "actor", "critic"),
    [(9, 2, 617_091, 650_433), (4, 1, 616_323, 649_665), (5, 1, 616_451, 649_793),
     (6, 1, 616_579, 649_921), (64, 2, 624_131, 657_473)],
)  # fmt: skip
def test_the_eit_has_the_originals_size(features, views, actor, critic):
    assert size(EITActor(PAPER_NET, features, views, 3)) == actor
    assert size(EITCritic(PAPER_NET, features, views, 3, copies=1)) == critic
    assert size(EITCritic(PAPER_NET, features, views, 3)) == 2 * critic


@pytest.mark.parametrize(("n", "actor", "critic"), [(1, 165_731, 182_657), (3, 165_859, 182_785)])
def test_smorl_has_the_originals_size(n, actor, critic):
    assert size(SmorlActor(SMORL_NET, 3 + n, 1, 3)) == actor
    assert size(SmorlCritic(SMORL_NET, 3 + n, 1, 3, copies=1)) == critic


@pytest.mark.parametrize(("n", "actor", "critic"), [(1, 134_659, 137_221), (3, 136_707, 141_321)])
def test_the_mlp_has_the_originals_size(n, actor, critic):
    inputs = 4 * (n + 1)
    assert size(MLPActor(MLP_NET, inputs, 3)) == actor
    assert size(MLPCritic(MLP_NET, inputs, 2 * (n + 1), 3, copies=1)) == critic


@pytest.mark.parametrize("name", NETS)
def test_the_order_of_entities_does_not_matter(name):
    torch.manual_seed(0)
    actor, critic = EITActor(NETS[name], 6, 1, 3), EITCritic(NETS[name], 6, 1, 3)
    state, goal, action = sets(4, 1, 5), sets(4, 1, 3, seed=1), torch.randn(4, 3)
    p, q = torch.randperm(5), torch.randperm(3)
    turned = Entities(state.values[:, :, p], state.visible[:, :, p])
    goals = Entities(goal.values[:, :, q], goal.visible[:, :, q])
    torch.testing.assert_close(actor(turned, goals), actor(state, goal), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        critic(turned, goals, action), critic(state, goal, action), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("views", [1, 2])
def test_hidden_entities_have_no_influence(name, views):
    torch.manual_seed(0)
    actor, critic = EITActor(NETS[name], 6, views, 3), EITCritic(NETS[name], 6, views, 3)
    state, goal, action = sets(4, views, 5), sets(4, views, 3, seed=1), torch.randn(4, 3)
    state.visible[..., 3:], goal.visible[..., 2:] = False, False
    few = Entities(state.values[:, :, :3], state.visible[:, :, :3])
    fewer = Entities(goal.values[:, :, :2], goal.visible[:, :, :2])
    torch.testing.assert_close(actor(few, fewer), actor(state, goal), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        critic(few, fewer, action), critic(state, goal, action), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("count", [1, 4, 13, 30])
def test_any_number_of_entities_will_do(count):
    actor = EITActor(FAST_NET, 6, 1, 3)
    out = actor(sets(3, 1, count), sets(3, 1, max(1, count - 1), seed=2))
    assert out.shape == (3, 3)
    assert out.abs().max() <= 1


def test_sets_in_which_nothing_is_visible_give_numbers():
    state, goal = sets(2, 1, 4), sets(2, 1, 3)
    state.visible[0], goal.visible[1] = False, False
    actor, critic = EITActor(FAST_NET, 6, 1, 3), EITCritic(FAST_NET, 6, 1, 3)
    assert torch.isfinite(actor(state, goal)).all()
    loss = critic(state, goal, torch.zeros(2, 3)).sum()
    loss.backward()
    assert all(torch.isfinite(w.grad).all() for w in critic.parameters() if w.grad is not None)


def test_few_and_many_keys_are_the_same_mathematics(monkeypatch):
    torch.manual_seed(0)
    attend = Attention(16, 4)
    to, of, visible = torch.randn(1, 3, 5, 16), torch.randn(1, 3, 7, 16), torch.rand(3, 7) > 0.3
    visible[2] = False
    few, weights = attend(to, of, visible, keep_weights=True)
    monkeypatch.setattr("jostle.nets.attention._FEW", 0)
    many, same = attend(to, of, visible, keep_weights=True)
    torch.testing.assert_close(many, few)
    torch.testing.assert_close(same, weights)
    torch.testing.assert_close(weights[:, :2].sum(-1), torch.ones(1, 2, 4, 5))
    assert (weights.movedim(1, 0)[~visible.any(-1)] == 0).all()
    assert (weights[..., ~visible[0]][:, 0] == 0).all()


def test_the_twin_critics_are_two_independent_networks():
    torch.manual_seed(0)
    twins = EITCritic(FAST_NET, 6, 1, 3)
    state, goal, action = sets(4, 1, 4), sets(4, 1, 3, seed=1), torch.randn(4, 3)
    both = twins(state, goal, action)
    for copy in range(2):
        one = EITCritic(FAST_NET, 6, 1, 3, copies=1)
        one.load_state_dict({k: v[copy : copy + 1] for k, v in twins.state_dict().items()})
        torch.testing.assert_close(one(state, goal, action)[0], both[copy], rtol=1e-4, atol=1e-5)
    both[0].sum().backward()
    assert all(w.grad[1].abs().max() == 0 for w in twins.parameters())


def test_ablations_change_what_they_say():
    blind = EITActor(NetConfig(goal_conditioning=False), 6, 1, 3)
    state = sets(2, 1, 4)
    torch.testing.assert_close(blind(state, sets(2, 1, 3)), blind(state, sets(2, 1, 3, seed=9)))
    apart = EITCritic(NetConfig(action_entity=False), 6, 1, 3)
    goal = sets(2, 1, 3)
    one, two = (apart(state, goal, torch.full((2, 3), a)) for a in (0.0, 1.0))
    assert (one != two).all()


def test_the_normalizer_knows_mean_and_deviation_of_all_it_saw():
    normalizer = Normalizer(6)
    batches = [sets(20, 1, 4, seed=seed) for seed in range(5)]
    for batch in batches:
        normalizer.update(batch)
    rows = torch.cat([batch.values[batch.visible] for batch in batches])
    torch.testing.assert_close(normalizer.mean.float(), rows.mean(0), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        normalizer.variance.float(), rows.var(0, unbiased=False), rtol=1e-4, atol=1e-5
    )
    out = normalizer(batches[0])
    assert out.values.abs().max() <= 5
    assert (out.values[~out.visible] == 0).all()


def test_codes_can_be_left_as_they_are():
    normalizer = Normalizer(6, plain=2)
    batch = sets(50, 1, 4)
    normalizer.update(Entities(7 + 3 * batch.values, batch.visible))
    out = normalizer(batch).values[batch.visible]
    torch.testing.assert_close(out[:, 4:], batch.values[batch.visible][:, 4:])
    assert (normalizer.mean[:4] > 5).all()


def test_bearings_tell_differences_and_nothing_else():
    here, there = torch.randn(3, 4, 2), torch.randn(3, 5, 2)
    found = Bearings.between(here, there, waves=6).pairs
    assert found.shape == (3, 4, 5, width(6))
    shift = torch.tensor((0.3, -1.2))
    moved = Bearings.between(here + shift, there + shift, waves=6).pairs
    torch.testing.assert_close(moved, found, atol=1e-4, rtol=0)
    gap = there[:, None] - here[:, :, None]
    torch.testing.assert_close(found[..., :2], gap)
    turns = 2 * torch.pi / 8 * 2.0 ** torch.arange(6)
    angles = (gap[..., None] * turns).flatten(-2)
    told = torch.cat((angles.sin(), angles.cos()), dim=-1)
    torch.testing.assert_close(found[..., 2:], told, atol=1e-4, rtol=0)


def test_bearings_between_views_and_with_strangers_are_zero():
    same = torch.block_diag(torch.ones(4, 5), torch.ones(4, 5))
    whole = Bearings.between(torch.randn(3, 8, 2), torch.randn(3, 10, 2), waves=3, known=same)
    found = whole.pairs
    assert (found[:, :4, 5:] == 0).all()
    assert (found[:, 4:, :5] == 0).all()
    assert (found[:, :4, :5] != 0).all()
    for there in (False, True):
        wider = whole.with_stranger(there).pairs
        torch.testing.assert_close(wider[:, 1:, int(there) :], found)
        assert (wider[:, 0] == 0).all()
        assert not there or (wider[:, :, 0] == 0).all()


@pytest.mark.parametrize("strangers", [False, True])
@pytest.mark.parametrize("stranger", [False, True])
@pytest.mark.parametrize("limits", [(9, 0), (0, 9), (0, 0)], ids=["few", "some", "many"])
def test_attention_reads_bearings_as_if_they_were_added_to_keys_and_values(
    strangers, stranger, limits, monkeypatch
):
    for name, most in zip(("_FEW_TO_READ", "_SOME"), limits, strict=True):
        monkeypatch.setattr(f"jostle.nets.attention.{name}", most)
    torch.manual_seed(0)
    known = (torch.rand(3, 4, 6) > 0.4).float() if strangers else None
    kinds = [Bearings.between(torch.randn(3, 4, 2), torch.randn(3, 6, 2), 3, know)
             for know in (known, None)]  # fmt: skip
    if stranger:
        kinds = [one.with_stranger(there=True) for one in kinds]
    count, keys_count = 4 + stranger, 6 + stranger
    attend = Attention(16, 4, copies=2, told=2 * width(3))
    to, of = torch.randn(2, 3, count, 16), torch.randn(2, 3, keys_count, 16)
    visible = torch.rand(3, keys_count) > 0.3
    result, weights = attend(to, of, visible, tuple(kinds), keep_weights=True)
    found = torch.cat([one.pairs for one in kinds], dim=-1)

    def added(base, part):  # (2, B, Q, S, h, d)
        return base.unflatten(-1, (4, 4))[:, :, None] + torch.einsum(
            "bqsf,chdf->cbqshd", found, part
        )

    keys = added(attend.key(of), attend.reader.key)
    values = added(attend.value(of), attend.reader.value)
    scores = torch.einsum("cbqhd,cbqshd->cbhqs", attend.query(to).unflatten(-1, (4, 4)), keys) / 2
    slow = scores.masked_fill(~visible[None, :, None, None], -torch.inf).softmax(-1)
    torch.testing.assert_close(weights, slow, rtol=1e-4, atol=1e-5)
    mixed = torch.einsum("cbhqs,cbqshd->cbqhd", slow, values).flatten(-2)
    torch.testing.assert_close(result, attend.out(mixed), rtol=1e-4, atol=1e-5)


def test_an_action_with_a_place_keeps_the_laws_of_sets_and_is_felt():
    torch.manual_seed(0)
    critic = EITCritic(replace(FAST_NET, action_place=True), 6, 1, 3)
    state, goal = sets(4, 1, 5), sets(4, 1, 3, seed=1)
    action = torch.rand(4, 3, requires_grad=True)
    values = critic(state, goal, action)
    order = torch.tensor((0, 3, 1, 4, 2))  # the gripper stays first
    turned = Entities(state.values[:, :, order], state.visible[:, :, order])
    torch.testing.assert_close(critic(turned, goal, action), values, rtol=1e-4, atol=1e-5)
    values.sum().backward()
    assert (action.grad.abs() > 0).all()
    with pytest.raises(ValueError, match="one view only"):
        EITCritic(replace(FAST_NET, action_place=True), 6, 2, 3)
