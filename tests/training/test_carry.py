"""What a new run takes over from trained weights: the actor, or everything."""

from copy import deepcopy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from experiments import DAGGER, TD3, quiet, tiny, tiny_pixels  # noqa: E402
from jostle.agents.weights import load_weights  # noqa: E402
from jostle.core.checkpoint import CheckpointError, load  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.runs.run_dir import critics_file  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.training.start import start_run  # noqa: E402
from jostle.zoo.agents import find_weights  # noqa: E402

NETS = ("actor", "critics", "target_actor", "target_critics", "normalizer", "critic_normalizer")


def assert_equal_nets(left, right, nets=NETS) -> None:
    """Compare networks of two agents bit for bit."""
    for net in nets:
        expected = getattr(left, net).state_dict()
        for name, tensor in getattr(right, net).state_dict().items():
            assert torch.equal(tensor, expected[name]), f"{net}.{name}"


def equal_weights(left, right) -> bool:
    """Whether two networks are equal."""
    pairs = zip(left.parameters(), right.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run: its trainer, whose agent has the weights of `final`, and that file."""
    folder = tmp_path_factory.mktemp("carry")
    trainer = start_run(tiny(), folder / "run", quiet)
    trainer.run()
    return trainer.components.agent, folder / "run/checkpoints/final.safetensors"


def test_carrying_all_restores_actor_critics_target_networks_and_normalizers(trained, tmp_path):
    agent, file = trained
    assert not equal_weights(agent.critics, agent.target_critics), "else nothing is proved"
    other = replace(tiny(), seed=1)
    carried = start_run(other, tmp_path / "run", quiet, file, "all").components.agent
    assert_equal_nets(agent, carried)
    assert carried.updates == 0
    assert carried.critic_normalizer is carried.normalizer


def test_carrying_all_restores_the_normalizer_of_privileged_critics(tmp_path):
    experiment = tiny_pixels(tmp_path, method="td3-privileged")
    trainer = start_run(experiment, tmp_path / "first", quiet)
    trainer.run()
    file = tmp_path / "first/checkpoints/final.safetensors"
    carried = start_run(replace(experiment, seed=1), tmp_path / "next", quiet, file, "all")
    assert_equal_nets(trainer.components.agent, carried.components.agent)
    assert carried.components.agent.critic_normalizer.count > 1


def test_carrying_all_without_the_second_file_says_what_is_missing(trained, tmp_path):
    actor_alone = tmp_path / "weights.safetensors"
    actor_alone.write_bytes(trained[1].read_bytes())
    with pytest.raises(CheckpointError, match=r"weights-critics.safetensors.*--carry actor"):
        start_run(tiny(), tmp_path / "run", quiet, actor_alone, "all")
    assert not (tmp_path / "run").exists()


def test_carrying_the_actor_leaves_critics_fresh(trained, tmp_path):
    agent, file = trained
    assert critics_file(file).is_file(), "it is there, and is not used"
    other = replace(tiny(), seed=1)
    fresh = start_run(other, tmp_path / "fresh", quiet).components.agent
    carried = start_run(other, tmp_path / "run", quiet, file, "actor").components.agent
    assert_equal_nets(agent, carried, ("actor", "normalizer"))
    assert equal_weights(carried.target_actor, agent.actor)
    assert equal_weights(carried.reference_actor, agent.actor)
    assert_equal_nets(fresh, carried, ("critics", "target_critics"))
    assert not equal_weights(carried.critics, agent.critics)


def test_a_run_starts_from_the_best_weights_of_a_folder(trained, tmp_path):
    _, file = trained
    best = load(file.with_stem("best"))[0]
    carried = start_run(tiny(), tmp_path / "run", quiet, file.parents[1]).components.agent
    for name, tensor in carried.actor.state_dict().items():
        assert torch.equal(tensor, best[f"actor.{name}"])


def test_behavior_cloning_needs_weights_to_start_from(tmp_path):
    experiment = tiny(axes=Axes(method="td3", finetune=True))
    with pytest.raises(BadValueError, match="--from"):
        start_run(experiment, tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()
    weights = find_weights("one-cube-state-dagger")
    trainer = start_run(experiment, tmp_path / "run", quiet, weights)
    trainer.run()
    agent = trainer.components.agent
    assert agent.eval_noise_std == experiment.explore.eval_noise_std > 0
    history = load(tmp_path / "run/checkpoints/final.safetensors")[1]["history"]
    assert [stage["method"] for stage in history] == ["dagger", "td3 fine-tuning"]
    # The warm-up of the critics is longer than this run: the actor has not moved
    assert_equal_nets(load_agent(weights)[1], agent, ("actor",))


def test_a_deeper_network_starts_where_a_shallower_one_ended(tmp_path):
    shallow = tiny(axes=DAGGER)
    first = start_run(shallow, tmp_path / "shallow", quiet)
    first.run()
    best = tmp_path / "shallow/checkpoints/best.safetensors"
    deep = replace(shallow, net=replace(shallow.net, num_layers=2))
    trainer = start_run(deep, tmp_path / "deep", quiet, best)
    agent = trainer.components.agent
    batch = first.components.sampler.sample(32)
    state, goal = agent.normalizer(batch.actor.state), agent.normalizer(batch.actor.goal)
    before = load_agent(best)[1].actor(state, goal)
    torch.testing.assert_close(agent.actor(state, goal), before)

    # The new layers learn
    trainer.run()
    after = load_agent(tmp_path / "deep/checkpoints/best.safetensors")[1]
    assert after.net.num_layers == 2
    assert (after.actor(state, goal) - before).abs().max() > 1e-3

    # Only the start of a run may add layers, and none may take them away
    with pytest.raises(CheckpointError, match="lack"):
        load_weights(agent, load(best)[0])
    with pytest.raises(CheckpointError, match="hold more than fits"):
        start_run(shallow, tmp_path / "no", quiet, tmp_path / "deep/checkpoints/best.safetensors")


def test_weights_carry_over_to_another_number_of_objects(trained, tmp_path):
    agent, file = trained
    trainer = start_run(tiny("two-cubes", DAGGER), tmp_path / "run", quiet, file)
    assert_equal_nets(agent, trainer.components.agent, ("actor",))
    initial = deepcopy(trainer.components.agent.actor)
    trainer.iterate()
    assert not equal_weights(initial, trainer.components.agent.actor)


def test_critics_of_another_shape_cannot_be_carried(trained, tmp_path):
    same = tiny(axes=TD3)
    wider = replace(same, net=replace(same.net, critic_arch="mlp", values="pooled"))
    with pytest.raises(CheckpointError, match="critics"):
        start_run(wider, tmp_path / "run", quiet, trained[1], "all")
    assert not (tmp_path / "run").exists()


def test_critics_of_fixed_ids_are_not_carried_to_more_objects(tmp_path):
    short = {"env_steps": 20, "num_envs": 2, "horizon": 5, "random_episodes": 0}
    fixed = tiny("one-cube", shuffle_object_ids=False, **short)
    start_run(fixed, tmp_path / "one", quiet).run()
    file = tmp_path / "one/checkpoints/final.safetensors"
    more = tiny("two-cubes", **short)
    with pytest.raises(CheckpointError, match="fixed ids"):
        start_run(more, tmp_path / "two", quiet, file, "all")
    assert not (tmp_path / "two").exists()
    start_run(more, tmp_path / "two", quiet, file, "actor")


def test_a_carried_critic_gives_nearly_the_same_values_under_any_labels(tmp_path):
    """Ids were drawn from all twelve while it learned, so it does not mind which it meets."""
    experiment = tiny("three-cubes", horizon=20, env_steps=720, random_episodes=0)
    weights = find_weights("three-cubes-state-td3")
    trainer = start_run(experiment, tmp_path / "run", quiet, weights, "all")
    trainer.iterate()
    agent, batch = trainer.components.agent, trainer.components.sampler.sample(256)
    ids = agent.spec.layout["object_id"]
    order = torch.randperm(ids.stop - ids.start, generator=torch.Generator().manual_seed(0))

    def relabel(entities):
        values = entities.values.clone()
        values[..., ids] = values[..., ids][..., order]
        return Entities(values, entities.visible)

    def values(change):
        state, goal = (agent.normalizer(change(x)) for x in batch.actor[:2])
        with torch.no_grad():
            return agent.critics(state, goal, batch.action)  # (C, B, N)

    before, after = values(lambda x: x), values(relabel)
    assert not torch.equal(before, after), "else nothing is proved"
    assert (before - after).square().mean() < 0.05 * before.var()
