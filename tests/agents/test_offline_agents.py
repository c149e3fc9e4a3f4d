"""IQL and behavior cloning: expectiles, sets, determinism, and what they learn from random data."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from jostle.agents.bc import BCAgent  # noqa: E402
from jostle.agents.config import IQLConfig, TD3Config  # noqa: E402
from jostle.agents.iql import IQLAgent, clone_weights, expectile_loss  # noqa: E402
from jostle.agents.networks import ObservationSpec  # noqa: E402
from jostle.core.entities import OBJECT_ID, POSITION, Entities, EntityLayout  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET  # noqa: E402
from jostle.nets.kernels import use_kernels  # noqa: E402
from jostle.replay.batch import Batch, GoalTransition  # noqa: E402

OBJECTS = 2
SPEC = ObservationSpec(
    state=(1, 1 + OBJECTS, 6), goal=(1, OBJECTS, 6),
    layout=EntityLayout(((POSITION, 2), (OBJECT_ID, 4))),
)  # fmt: skip
PER_ENTITY = replace(FAST_NET, values="per-entity", embed_dim=16, heads=2, head_hidden=(32,))
TD3 = TD3Config(gamma=0.95, tau=0.05, lr=1e-3, batch_size=32)


def iql_agent(net=PER_ENTITY, td3=TD3, **iql) -> IQLAgent:
    return IQLAgent(net, td3, IQLConfig(**iql), SPEC, seed=0)


def bc_agent() -> BCAgent:
    return BCAgent(PER_ENTITY, TD3, SPEC, 0)


def random_batch(size: int = 32, seed: int = 0, hide: float = 0.0, per_object=True) -> Batch:
    """Random transitions of one step; the best action is (0.6, 0, 0), whatever the state."""
    rng = torch.Generator().manual_seed(seed)
    present = torch.rand(size, OBJECTS, generator=rng) >= hide
    present[:, 0] = True

    def entities(visible) -> Entities:
        values = torch.randn(size, 1, visible.shape[1], 6, generator=rng)
        return Entities(values * visible[:, None, :, None], visible[:, None])

    whole = torch.cat((torch.ones(size, 1, dtype=torch.bool), present), dim=1)
    seen = GoalTransition(entities(whole), entities(present), entities(whole))
    action = torch.rand(size, 3, generator=rng) * 2 - 1
    reward = -(action - torch.tensor([0.6, 0.0, 0.0])).square().sum(-1)  # (B,)
    if per_object:
        reward = reward[:, None] * present
    return Batch(
        seen, seen, action, reward, torch.zeros(size), None, present if per_object else None
    )


def test_the_expectile_loss_has_its_known_values():
    difference = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])
    expected = torch.tensor([4 * 0.3, 0.3, 0.0, 0.7, 4 * 0.7])
    torch.testing.assert_close(expectile_loss(difference, 0.7), expected)
    torch.testing.assert_close(expectile_loss(difference, 0.5), 0.5 * difference.square())


@pytest.mark.parametrize("expectile", [0.1, 0.5, 0.7, 0.9])
def test_an_equal_mix_of_zeros_and_ones_has_its_expectile_as_minimum(expectile):
    samples, candidates = torch.tensor([0.0, 1.0]), torch.linspace(0, 1, 1001)
    losses = expectile_loss(samples[None] - candidates[:, None], expectile).mean(1)
    assert candidates[losses.argmin()].item() == pytest.approx(expectile, abs=2e-3)


@pytest.mark.parametrize("hide", [0.0, 0.4])
@torch.no_grad()
def test_state_values_follow_their_objects_and_absent_ones_have_none(hide):
    agent, batch = iql_agent(), random_batch(200, hide=hide)
    values = agent.value(batch.critic.state, batch.critic.goal)
    assert values.shape == (200, OBJECTS)
    assert (values[~batch.present] == 0).all()
    assert (values[batch.present] != 0).all()
    swapped = [
        entities.map(lambda x: torch.cat((x[:, :, :first], x[:, :, first:].flip(2)), 2))  # noqa: B023
        for entities, first in ((batch.critic.state, 1), (batch.critic.goal, 0))
    ]
    torch.testing.assert_close(agent.value(*swapped), values.flip(1), atol=1e-5, rtol=1e-5)
    with use_kernels(False):
        plain = agent.value(batch.critic.state, batch.critic.goal)
    torch.testing.assert_close(plain, values, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_pooled_value_does_not_depend_on_the_order_of_objects():
    agent, batch = iql_agent(replace(PER_ENTITY, values="pooled")), random_batch(50)
    state, goal = batch.critic.state, batch.critic.goal
    flipped = goal.map(lambda x: x.flip(2))
    assert agent.value(state, goal).shape == (50,)
    torch.testing.assert_close(
        agent.value(state, flipped), agent.value(state, goal), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("make", [iql_agent, bc_agent])
def test_updates_are_deterministic_and_resume_bit_for_bit(make):
    whole, stopped = make(), make()
    batches = [random_batch(seed=seed) for seed in range(4)]
    for batch in batches:
        whole.update(batch)
    for batch in batches[:2]:
        stopped.update(batch)
    resumed = make()
    resumed.load_state_dict(*stopped.state_dict())
    for batch in batches[2:]:
        resumed.update(batch)
    (left, first), (right, second) = whole.state_dict(), resumed.state_dict()
    assert first == second
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_absent_objects_do_not_change_an_update():
    batch, logs = random_batch(hide=0.5), []
    for garbage in (0.0, 1e3):
        agent = iql_agent()
        changed = batch._replace(reward=batch.reward - garbage * ~batch.present)
        logs.append([agent.update(changed) for _ in range(2)][-1])
    assert logs[0] == logs[1]


@pytest.mark.parametrize("values", ["per-entity", "pooled"])
def test_iql_finds_the_best_action_in_random_data_and_cloning_does_not(values):
    net = replace(PER_ENTITY, values=values)
    iql, bc = iql_agent(net, bc_alpha=0.1), bc_agent()
    for seed in range(150):
        batch = random_batch(seed=seed, per_object=values == "per-entity")
        iql.update(batch)
        bc.update(batch)
    test = random_batch(64, seed=1000).actor
    best, cloned = (agent.act(test.state, test.goal).mean(0) for agent in (iql, bc))
    assert abs(best[0] - 0.6) < 0.2
    assert abs(best[1:]).max() < 0.2
    assert abs(cloned).max() < 0.2


def test_a_higher_expectile_gives_higher_state_values():
    means = []
    for expectile in (0.5, 0.9):
        agent = iql_agent(expectile=expectile)
        for seed in range(60):
            log = agent.update(random_batch(seed=seed))
        means.append(float(log["value_mean"]))
    assert means[0] < means[1]


def test_only_better_actions_are_cloned_with_the_filter():
    logs = []
    for chosen in (False, True):
        agent = iql_agent(bc_advantage_filter=chosen)
        logs.append([agent.update(random_batch()) for _ in range(2)][-1])
    assert logs[1]["bc_loss"] < logs[0]["bc_loss"]


def test_better_actions_count_alike_or_in_proportion_with_a_mean_of_one():
    advantage = torch.tensor([-1.0, 0.0, 1.0, 3.0])
    alike, proportional = (clone_weights(advantage, chosen) for chosen in (False, True))
    assert alike.tolist() == [0, 0, 1, 1]
    assert proportional.tolist() == [0, 0, 1, 3]
    torch.testing.assert_close(clone_weights(advantage[2:] * 0.01, True), torch.tensor([0.5, 1.5]))
    assert clone_weights(-advantage.abs(), True).tolist() == [0, 0, 0, 0]


def test_cloning_by_advantage_changes_what_the_actor_learns():
    logs = []
    for chosen in (False, True):
        agent = iql_agent(bc_by_advantage=chosen)
        logs.append([agent.update(random_batch()) for _ in range(2)][-1])
    assert logs[0]["bc_loss"] != logs[1]["bc_loss"]


def test_the_actor_waits_for_the_values():
    agent = iql_agent(td3=replace(TD3, policy_delay=1, critic_warmup_updates=2))
    for waits in (True, True, False):
        before = {name: x.clone() for name, x in agent.acting_tensors().items()}
        critics = {name: x.clone() for name, x in agent.learning_tensors().items()}
        log = agent.update(random_batch())
        assert ("actor_loss" not in log) == waits
        after = agent.acting_tensors()
        assert all(torch.equal(before[name], after[name]) for name in before) == waits
        after = agent.learning_tensors()
        name = "target_critics.trunk.embed_state.weight"
        assert not torch.equal(critics[name], after[name])


def test_weights_of_iql_start_td3_and_bc_has_no_critics():
    agent = iql_agent()
    agent.update(random_batch())
    tensors = agent.learning_tensors()
    assert {name.split(".")[0] for name in tensors} == {
        "critics", "target_actor", "target_critics", "value",
    }  # fmt: skip
    copy = iql_agent()
    copy.load_weights({**agent.acting_tensors(), **tensors})
    assert all(torch.equal(tensors[name], copy.learning_tensors()[name]) for name in tensors)
    assert bc_agent().learning_tensors() == {}


def test_impossible_settings_are_refused():
    with pytest.raises(BadValueError, match="expectile"):
        IQLConfig(expectile=1.0)
    with pytest.raises(BadValueError, match="bc_alpha"):
        IQLConfig(bc_alpha=-1.0)
    with pytest.raises(BadValueError, match="--bc-advantage-filter"):
        IQLConfig(bc_advantage_filter=False, bc_by_advantage=True)
    with pytest.raises(BadValueError, match="--arch eit"):
        iql_agent(MLP_NET)
