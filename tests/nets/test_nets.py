"""Networks: the paper's sizes, and symmetries of sets."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from entity_sets import layout, random_sets  # noqa: E402

from jostle.core.entities import Entities  # noqa: E402
from jostle.nets.attention import Attention  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET, SMORL_NET, NetConfig  # noqa: E402
from jostle.nets.eit import EITActor, EITCritic  # noqa: E402
from jostle.nets.kernels import use_kernels  # noqa: E402
from jostle.nets.mlp import MLPActor, MLPCritic  # noqa: E402
from jostle.nets.normalize import Normalizer  # noqa: E402
from jostle.nets.smorl import SmorlActor, SmorlCritic  # noqa: E402

NETS = {
    "paper": PAPER_NET,
    "fast": FAST_NET,
    "deep": NetConfig(num_layers=2, embed_dim=32, heads=4, embed_mlp=(16,)),
    "table xy": replace(FAST_NET, table_xy=True),
}


def size(net) -> int:
    return sum(weight.numel() for weight in net.parameters())


def sets(batch: int, views: int, count: int, features: int = 6, seed: int = 0) -> Entities:
    entities = random_sets((batch, views, count), features, seed=seed)
    entities.visible[..., 0] = True
    return entities


def networks(name: str, views: int = 1) -> tuple[EITActor, EITCritic]:
    torch.manual_seed(0)
    net = NETS[name]
    columns = layout(6, net.table_xy)
    return EITActor(net, columns, views, 3), EITCritic(net, columns, views, 3)


def assert_near(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("features", "views", "actor", "critic"),
    [(9, 2, 617_091, 650_433), (4, 1, 616_323, 649_665), (5, 1, 616_451, 649_793),
     (6, 1, 616_579, 649_921), (64, 2, 624_131, 657_473)],
)  # fmt: skip
def test_the_eit_has_the_originals_size(features, views, actor, critic):
    columns = layout(features)
    assert size(EITActor(PAPER_NET, columns, views, 3)) == actor
    assert size(EITCritic(PAPER_NET, columns, views, 3, ensemble=1)) == critic
    assert size(EITCritic(PAPER_NET, columns, views, 3)) == 2 * critic


@pytest.mark.parametrize(("n", "actor", "critic"), [(1, 165_731, 182_657), (3, 165_859, 182_785)])
def test_smorl_has_the_originals_size(n, actor, critic):
    assert size(SmorlActor(SMORL_NET, 3 + n, 1, 3)) == actor
    assert size(SmorlCritic(SMORL_NET, 3 + n, 1, 3, ensemble=1)) == critic


@pytest.mark.parametrize(("n", "actor", "critic"), [(1, 134_659, 137_221), (3, 136_707, 141_321)])
def test_the_mlp_has_the_originals_size(n, actor, critic):
    inputs = 4 * (n + 1)
    assert size(MLPActor(MLP_NET, inputs, 3)) == actor
    assert size(MLPCritic(MLP_NET, inputs, 2 * (n + 1), 3, ensemble=1)) == critic


@pytest.mark.parametrize("name", NETS)
def test_the_order_of_entities_does_not_matter(name):
    actor, critic = networks(name)
    state, goal, action = sets(4, 1, 5), sets(4, 1, 3, seed=1), torch.randn(4, 3)
    p, q = torch.randperm(5), torch.randperm(3)
    shuffled = Entities(state.values[:, :, p], state.visible[:, :, p])
    goals = Entities(goal.values[:, :, q], goal.visible[:, :, q])
    assert_near(actor(shuffled, goals), actor(state, goal))
    assert_near(critic(shuffled, goals, action), critic(state, goal, action))


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("views", [1, 2])
def test_hidden_entities_have_no_influence(name, views):
    actor, critic = networks(name, views)
    state, goal, action = sets(4, views, 5), sets(4, views, 3, seed=1), torch.randn(4, 3)
    state.visible[..., 3:], goal.visible[..., 2:] = False, False
    fewer = Entities(state.values[:, :, :3], state.visible[:, :, :3])
    fewer_goals = Entities(goal.values[:, :, :2], goal.visible[:, :, :2])
    assert_near(actor(fewer, fewer_goals), actor(state, goal))
    assert_near(critic(fewer, fewer_goals, action), critic(state, goal, action))


@pytest.mark.parametrize("count", [1, 4, 13, 30])
def test_the_number_of_entities_may_vary(count):
    actor = EITActor(FAST_NET, layout(6), 1, 3)
    actions = actor(sets(3, 1, count), sets(3, 1, max(1, count - 1), seed=2))
    assert actions.shape == (3, 3)
    assert actions.abs().max() <= 1


@pytest.mark.parametrize("fast", [True, False], ids=["kernels", "no kernels"])
def test_sets_without_visible_entities_give_finite_outputs_and_gradients(fast):
    state, goal = sets(2, 1, 4), sets(2, 1, 3)
    state.visible[0], goal.visible[1] = False, False
    actor, critic = networks("fast")
    with use_kernels(fast):
        assert torch.isfinite(actor(state, goal)).all()
        critic(state, goal, torch.zeros(2, 3)).sum().backward()
    assert all(torch.isfinite(w.grad).all() for w in critic.parameters() if w.grad is not None)


def test_attention_over_small_and_large_sets_is_the_same_mathematics(monkeypatch):
    torch.manual_seed(0)
    attend = Attention(16, 4)
    query, context = torch.randn(1, 3, 5, 16), torch.randn(1, 3, 7, 16)
    visible = torch.rand(3, 7) > 0.3
    visible[2] = False
    small, weights = attend(query, context, visible)
    monkeypatch.setattr("jostle.nets.kernels.attention._SMALL", 0)
    large, large_weights = attend(query, context, visible)
    with use_kernels(False):
        plain, plain_weights = attend(query, context, visible)
    for result, same_weights in ((large, large_weights), (plain, plain_weights)):
        torch.testing.assert_close(result, small)
        torch.testing.assert_close(same_weights, weights)
    torch.testing.assert_close(weights[:, :2].sum(-1), torch.ones(1, 2, 4, 5))
    assert (weights.movedim(1, 0)[~visible.any(-1)] == 0).all()
    assert (weights[..., ~visible[0]][:, 0] == 0).all()


def test_twin_critics_are_two_independent_networks():
    torch.manual_seed(0)
    twins = EITCritic(FAST_NET, layout(6), 1, 3)
    state, goal, action = sets(4, 1, 4), sets(4, 1, 3, seed=1), torch.randn(4, 3)
    values = twins(state, goal, action)
    for i in range(2):
        single = EITCritic(FAST_NET, layout(6), 1, 3, ensemble=1)
        single.load_state_dict({k: v[i : i + 1] for k, v in twins.state_dict().items()})
        assert_near(single(state, goal, action)[0], values[i])
    values[0].sum().backward()
    assert all(w.grad[1].abs().max() == 0 for w in twins.parameters())


def test_ablations_remove_what_they_name():
    without_goals = EITActor(NetConfig(goal_conditioning=False), layout(6), 1, 3)
    state = sets(2, 1, 4)
    torch.testing.assert_close(
        without_goals(state, sets(2, 1, 3)), without_goals(state, sets(2, 1, 3, seed=9))
    )
    appended = EITCritic(NetConfig(action_entity=False), layout(6), 1, 3)
    goal = sets(2, 1, 3)
    low, high = (appended(state, goal, torch.full((2, 3), a)) for a in (0.0, 1.0))
    assert (low != high).all()


def test_the_normalizer_has_mean_and_variance_of_all_visible_entities():
    normalizer = Normalizer(6)
    batches = [sets(20, 1, 4, seed=seed) for seed in range(5)]
    for batch in batches:
        normalizer.update(batch)
    rows = torch.cat([batch.values[batch.visible] for batch in batches])
    assert_near(normalizer.mean.float(), rows.mean(0))
    assert_near(normalizer.variance.float(), rows.var(0, unbiased=False))
    normalized = normalizer(batches[0])
    assert normalized.values.abs().max() <= 5
    assert (normalized.values[~normalized.visible] == 0).all()


def test_a_mask_column_hides_what_is_below_its_mean_and_is_dropped():
    normalizer, batch = Normalizer(6, num_raw=2, mask_column=3), sets(50, 1, 4)
    normalizer.update(batch)
    normalized, plain = normalizer(batch), Normalizer(6, num_raw=2)
    plain.load_state_dict(normalizer.state_dict())
    above = batch.values[..., 3] >= normalizer.mean[3].float()
    assert torch.equal(normalized.visible, batch.visible & above)
    assert 0 < normalized.visible.sum() < batch.visible.sum()
    kept = plain(batch).values[..., [0, 1, 2, 4, 5]]
    assert torch.equal(normalized.values, kept * normalized.visible[..., None])


def test_object_ids_can_stay_raw():
    normalizer = Normalizer(6, num_raw=2)
    batch = sets(50, 1, 4)
    normalizer.update(Entities(7 + 3 * batch.values, batch.visible))
    normalized = normalizer(batch).values[batch.visible]
    torch.testing.assert_close(normalized[:, 4:], batch.values[batch.visible][:, 4:])
    assert (normalizer.mean[:4] > 5).all()


def test_an_action_with_a_position_keeps_the_symmetry_and_has_influence():
    torch.manual_seed(0)
    net = replace(FAST_NET, action_token_position=True)
    critic = EITCritic(net, layout(6), 1, 3)
    state, goal = sets(4, 1, 5), sets(4, 1, 3, seed=1)
    action = torch.rand(4, 3, requires_grad=True)
    values = critic(state, goal, action)
    order = torch.tensor((0, 3, 1, 4, 2))  # the gripper stays first
    shuffled = Entities(state.values[:, :, order], state.visible[:, :, order])
    assert_near(critic(shuffled, goal, action), values)
    values.sum().backward()
    assert (action.grad.abs() > 0).all()
    with pytest.raises(ValueError, match="one view only"):
        EITCritic(net, layout(6), 2, 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"arch": "lstm"}, "arch is 'eit', 'smorl' or 'mlp', not 'lstm'"),
        ({"critic_arch": "eit"}, "critic_arch is 'same' or 'mlp', not 'eit'"),
        ({"embed_dim": 30}, "multiple of heads"),
        ({"num_layers": 0}, "num_layers must be at least 1"),
        ({"relative_positions": -1}, "must not be negative"),
        ({"aux_targets": -1}, "must not be negative"),
        ({"aux_targets": 4, "arch": "mlp"}, "aux_targets needs arch 'eit', not 'mlp'"),
        ({"table_xy": True}, "table_xy needs arch 'eit', relative_positions above 0"),
        ({"action_token_position": True}, "needs relative_positions above 0"),
    ],
)
def test_impossible_networks_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        NetConfig(**fields)
