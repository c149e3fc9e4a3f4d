"""TD3: the update does what the paper says, and learns."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.build import Shapes  # noqa: E402
from jostle.agents.config import ExploreConfig, TD3Config  # noqa: E402
from jostle.agents.explore import Approaches, explore  # noqa: E402
from jostle.agents.saving import everything, load_weights, restore, weights  # noqa: E402
from jostle.agents.td3 import NotFiniteError, Past, TD3Agent, aims  # noqa: E402
from jostle.core.checkpoint import CheckpointError, load, save  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET  # noqa: E402
from jostle.replay.sampler import Batch, Stay  # noqa: E402

SHAPES = Shapes(state=(1, 3, 6), goal=(1, 2, 6))


def agent(net=FAST_NET, **options) -> TD3Agent:
    return TD3Agent(net, TD3Config(batch=32, **options), SHAPES, seed=0)


def batch(size: int = 32, seed: int = 0, reward=None) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def entities(count: int) -> Entities:
        return Entities.all_visible(torch.randn(size, 1, count, 6, generator=generator))

    action = torch.rand(size, 3, generator=generator) * 2 - 1
    given = -torch.rand(size, generator=generator) if reward is None else reward(action)
    return Batch(entities(3), entities(2), action, given, entities(3), torch.full((size,), 0.98))


@pytest.mark.parametrize("net", [FAST_NET, MLP_NET, replace(FAST_NET, critics="mlp")])
def test_the_actor_finds_the_action_that_pays(net):
    learner = agent(net, gamma=0.01, action_penalty=0.0, lr=3e-4, critic_lr=2e-3, worst_reward=-9.0)
    wanted = torch.tensor((0.5, -0.5, 0.2))
    for seed in range(400):
        learner.update(batch(64, seed, lambda a: -((a - wanted) ** 2).sum(-1)))
    fresh = batch(64, 999)
    actions = learner.act(fresh.state, fresh.goal)
    assert np.abs(actions - wanted.numpy()).mean() < 0.2


def test_rounded_arithmetic_learns_nearly_the_same_and_leaves_weights_full():
    logs = {}
    for precision in ("full", "bf16"):
        learner = agent(PAPER_NET, precision=precision)
        for seed in range(6):
            logs[precision] = learner.update(batch(32, seed))
        kept = weights(learner, ("actor", "critics", "slow_actor", "slow_critics"))
        assert {tensor.dtype for tensor in kept.values()} == {torch.float32}
    full, rounded = (logs[name]["value"].float() for name in ("full", "bf16"))
    assert full != rounded
    torch.testing.assert_close(full, rounded, atol=0.05, rtol=0.05)
    with pytest.raises(ValueError, match="'bf16'"):
        agent(precision="half")


def test_targets_are_clipped_to_what_rewards_allow():
    assert TD3Config().lowest_value == pytest.approx(-100)
    learner = agent(gamma=0.9)
    for seed in range(40):
        log = learner.update(batch(32, seed, lambda a: torch.full((len(a),), -50.0)))
    assert log["value"] > learner.config.lowest_value * 1.5


def test_gains_and_the_worth_of_staying_add_up_to_values():
    plain, generator = batch(64), torch.Generator().manual_seed(1)
    now, later = (-torch.rand(64, generator=generator) * 60 for _ in range(2))  # some out of reach
    gains = torch.randn(64, generator=generator)
    values = aims(plain, later + gains, lowest=-50.0)
    torch.testing.assert_close(
        aims(plain._replace(staying=Stay(now, later)), gains, lowest=-50.0) + now, values
    )


def test_where_nothing_moves_nothing_is_gained():
    reward = -torch.rand(64)
    still = batch(64)._replace(reward=reward, staying=Stay(reward / 0.02, reward / 0.02))
    torch.testing.assert_close(
        aims(still, torch.zeros(64), lowest=-100.0), torch.zeros(64), atol=1e-4, rtol=0
    )


def test_the_actor_moves_only_every_second_update():
    learner = agent()
    before = [w.clone() for w in learner.actor.parameters()]
    learner.update(batch())
    assert all((a == b).all() for a, b in zip(before, learner.actor.parameters(), strict=True))
    log = learner.update(batch())
    assert "actor_loss" in log
    assert any((a != b).any() for a, b in zip(before, learner.actor.parameters(), strict=True))


def test_slow_copies_move_once_per_round_by_tau():
    learner = agent()
    for seed in range(4):
        learner.update(batch(32, seed))
    pairs = list(zip(learner.slow_critics.parameters(), learner.critics.parameters(), strict=True))
    before = [slow.clone() for slow, _ in pairs]
    learner.update(batch(32, 9))
    assert all((a == slow).all() for a, (slow, _) in zip(before, pairs, strict=True))
    learner.end_round()
    for old, (slow, fast) in zip(before, pairs, strict=True):
        torch.testing.assert_close(slow, old + 0.05 * (fast - old))


def test_normalization_is_shared_and_not_averaged_into_the_slow_copies():
    learner = agent()
    assert not any("normalizer" in name for name, _ in learner.slow_actor.named_modules())
    learner.normalizer.update(batch().state)
    assert learner.normalizer.count > 1


def test_not_a_number_stops_the_learning():
    learner = agent()
    with pytest.raises(NotFiniteError, match="last good checkpoint"):
        learner.update(batch(32, 0, lambda a: torch.full((len(a),), torch.nan)))


def test_a_saved_agent_learns_on_bit_by_bit(tmp_path):
    one, two = agent(), TD3Agent(FAST_NET, TD3Config(batch=32), SHAPES, seed=5)
    for seed in range(5):
        one.update(batch(32, seed))
    tensors, meta = everything(one)
    save(tmp_path / "a.safetensors", tensors, meta)
    restore(two, *load(tmp_path / "a.safetensors"))
    for seed in range(5, 10):
        left, right = one.update(batch(32, seed)), two.update(batch(32, seed))
        assert left.keys() == right.keys()
        assert all((left[key] == right[key]).all() for key in left)
    for a, b in zip(one.actor.parameters(), two.actor.parameters(), strict=True):
        assert (a == b).all()


def test_weights_of_another_width_are_refused_with_the_reason(tmp_path):
    save(tmp_path / "w.safetensors", weights(agent(PAPER_NET)), {})
    tensors, _ = load(tmp_path / "w.safetensors")
    with pytest.raises(CheckpointError, match="Another width or task"):
        load_weights(agent(replace(PAPER_NET, width=32)), tensors)
    with pytest.raises(CheckpointError, match="no actor"):
        load_weights(agent(), {"x": torch.zeros(1)})


def test_damaged_and_foreign_files_are_refused(tmp_path):
    from safetensors.torch import save_file

    good = tmp_path / "good.safetensors"
    save(good, weights(agent()), {"a": 1})
    (tmp_path / "cut.safetensors").write_bytes(good.read_bytes()[:1000])
    save_file({"x": torch.zeros(1)}, tmp_path / "foreign.safetensors")
    for name, says in (
        ("cut", "damaged"),
        ("foreign", "not of this package"),
        ("no", "no checkpoint"),
    ):
        with pytest.raises(CheckpointError, match=says):
            load(tmp_path / f"{name}.safetensors")


def test_a_failed_write_keeps_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    save(path, {"x": torch.ones(2)}, {})
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(CheckpointError, match="disk full"):
        save(path, {"x": torch.zeros(2)}, {})
    assert load(path)[0]["x"].sum() == 2
    assert [one.name for one in tmp_path.iterdir()] == ["a.safetensors"]


def test_exploration_follows_its_schedule(rng):
    config = ExploreConfig(epsilon=0.4, sigma=0.0, one_coin=False, decay_from=10, decay_until=20)
    assert [config.scale(n) for n in (0, 10, 15, 20, 99)] == [1.0, 1.0, 0.75, 0.5, 0.5]
    still = np.zeros((4000, 3), np.float32)
    for episodes, share in ((0, 0.4), (99, 0.2)):
        moved = (explore(still, config, episodes, rng) != 0).any(-1).mean()
        assert moved == pytest.approx(share, abs=0.03)
    together = explore(still, ExploreConfig(sigma=0.0), 0, rng)
    assert (together != 0).any(-1).mean() in (0.0, 1.0), "one coin decides for all copies"


def test_an_actor_at_rest_and_an_anchored_one_stay_where_they_were():
    rested = agent(actor_rests=9, slow_copies="actor-step")
    anchored, free, slow = agent(anchor=1e4), agent(), deepcopy(rested.slow_critics)
    before = deepcopy(free.actor.state_dict())
    for seed in range(8):
        for learner in (rested, anchored, free):
            learner.update(batch(32, seed))

    def moved(learner: TD3Agent) -> float:
        state, goal = batch(64, 99).state, batch(64, 99).goal
        old = TD3Agent(FAST_NET, TD3Config(), SHAPES, seed=0)
        old.actor.load_state_dict(before)
        return float(np.abs(learner.act(state, goal) - old.act(state, goal)).mean())

    assert moved(rested) == 0.0
    pairs = zip(slow.parameters(), rested.slow_critics.parameters(), strict=True)
    assert all((old != new).any() for old, new in pairs), "the critics' copies go on moving"
    assert 0 < moved(anchored) < 0.5 * moved(free)


@pytest.mark.parametrize("better", [True, False])
def test_an_actor_takes_over_what_was_done_better_and_nothing_else(better):
    learner = agent(imitate_self=1.0, action_penalty=0.0)
    with torch.no_grad():
        for weight in learner.critics.parameters():
            weight.zero_()  # all actions are worth 0
    given = batch(64)
    moments, _ = learner._both_see(given)
    past = Past(given.action, torch.full((64,), 1.0 if better else -1.0))
    before = learner.act(given.state, given.goal)
    for _ in range(400):
        learner._improve(moments, moments, past)
    after = learner.act(given.state, given.goal)
    if better:
        apart = [np.abs(actions - given.action.numpy()).mean() for actions in (before, after)]
        assert apart[1] < 0.3 * apart[0]
    else:
        np.testing.assert_array_equal(before, after)


def test_nobody_is_driven_away_from_its_past():
    with pytest.raises(BadValueError, match="imitate_self must not be negative"):
        TD3Config(imitate_self=-1.0)


def test_who_heads_for_an_object_that_is_not_there_any_more_gives_up():
    config, rng = ExploreConfig(approach=1.0, approach_steps=1e9), np.random.default_rng(0)
    heading = Approaches(50)
    assert heading.step(config, np.ones((50, 2), bool), rng).all()
    assert not heading.step(config, np.zeros((50, 2), bool), rng).any()
    assert heading.step(config, np.tile([False, True], (50, 1)), rng).all()
    assert (heading.chosen == 1).all()


def test_approaches_choose_only_objects_that_are_there_and_end():
    config, rng = ExploreConfig(approach=0.3, approach_steps=4.0), np.random.default_rng(0)
    there = np.tile([True, False, True], (500, 1))
    heading = Approaches(500)
    share = np.mean([heading.step(config, there, rng).mean() for _ in range(60)][10:])
    assert set(heading.chosen.tolist()) == {-1, 0, 2}
    assert 0.4 < share < 0.7  # starts at 0.3 a step, lasts 4 steps: 4 / (4 + 1 / 0.3), and a start
    heading.begin()
    assert not heading.step(ExploreConfig(approach=0.0), there, rng).any()
