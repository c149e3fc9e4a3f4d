"""Trainings whose actor and critics see particles, with a value per goal particle."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import assert_same_tensors, quiet, stop_at, tiny_pixels  # noqa: E402
from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.rewards.catalog import REWARDS  # noqa: E402
from jostle.rewards.distance import DistanceReward  # noqa: E402
from jostle.runs.run_dir import RunDir, critics_file  # noqa: E402
from jostle.training.experiment import Experiment  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402

AXES = Axes(obs="pixels", method="td3", values="per-entity")


def small(folder: Path, task: str = "one-cube", **hindsight) -> Experiment:
    experiment = tiny_pixels(folder, task, "td3", values="per-entity")
    return replace(experiment, hindsight=replace(experiment.hindsight, **hindsight))


def tie_at_random(trainer) -> None:
    """Let an encoder that was never trained find objects."""
    rng = np.random.default_rng(0)
    ties = trainer.components.collector._ties
    ties.tie = lambda particles, places: rng.integers(
        -1, places.shape[1], particles.visible.shape
    ).astype(np.int8)


def test_they_are_chosen_by_values_and_read_no_true_place():
    experiment = make_experiment("three-cubes", AXES)
    assert experiment.net.values == "per-entity"
    assert experiment.net.critic_arch == "same"
    assert experiment.explore.reach_from == "particles"
    assert experiment.td3.potential_baseline
    assert experiment.curriculum.stage_objects == (1, 2)
    finetuned = make_experiment("three-cubes", replace(AXES, finetune=True))
    assert finetuned.net.values == "per-entity"
    assert finetuned.td3.bc_weight > 0
    pooled = make_experiment("three-cubes", Axes(obs="pixels", method="td3"))
    assert pooled.net.values == "pooled"
    assert pooled.explore.reach_from == "truth"


@pytest.mark.parametrize("every", [0, 2])
def test_a_training_resumes_bit_for_bit(every, tmp_path):
    experiment = small(tmp_path, goal_render_every=every)
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(RuntimeError):
        start_run(experiment, tmp_path / "failed", stop_at(3, RuntimeError)).run()
    resume_run(tmp_path / "failed", quiet).run()
    for name in ("last", "best", "best-critics"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "failed" / file)


def test_ties_come_with_batches_and_move_the_actor(tmp_path):
    trainer = start_run(small(tmp_path, "two-cubes"), tmp_path / "run", quiet)
    tie_at_random(trainer)
    trainer.iterate()
    trainer.iterate()
    batch = trainer.components.sampler.sample(64)
    assert batch.reward.shape == batch.present.shape == (64, 2 * 4)
    assert set(batch.present.unique().tolist()) >= {0.0, 0.5, 1.0}
    assert (batch.reward[batch.present == 0] == 0).all()
    assert (batch.reward < 0).any()
    agent = trainer.components.agent
    before = [weight.clone() for weight in agent.actor.parameters()]
    for _ in range(4):
        agent.update(batch)
    assert not all(
        torch.equal(*pair) for pair in zip(before, agent.actor.parameters(), strict=True)
    )


def test_a_curriculum_carries_actor_critics_targets_and_normalizer(tmp_path):
    experiment = small(tmp_path, "two-cubes")
    stages = replace(
        make_experiment("two-cubes", AXES).curriculum, stage_env_steps=(12,), stage_horizons=(3,),
        random_episodes_first=2,
    )  # fmt: skip
    training = replace(experiment.training, curriculum=True, random_episodes=0, eval_every=1)
    experiment = replace(experiment, training=training, curriculum=stages)
    trainer = start_run(experiment, tmp_path / "run", quiet)
    trainer._open().run()
    trainer._skip_finished()
    stage = RunDir(tmp_path / "run").stage(1)
    carried = load(stage.best)[0] | load(critics_file(stage.best))[0]
    second = trainer._open()
    assert second.experiment.max_objects == 2
    own = second.components.agent.state_dict()[0]
    assert any("critics.trunk.pool" in name for name in carried)
    for name, tensor in carried.items():
        assert torch.equal(own[name], tensor), name


def test_a_reward_that_reads_particles_is_refused(tmp_path, monkeypatch):
    class Seen(DistanceReward):
        reads = "entities"

    monkeypatch.setitem(
        REWARDS._entries, "seen", lambda context: Seen(context.metric, context.farthest)
    )
    experiment = small(tmp_path)
    training = replace(experiment.training, reward="seen")
    with pytest.raises(BadValueError, match="no reward per goal particle"):
        start_run(replace(experiment, training=training), tmp_path / "run", quiet)


def test_headings_slots_and_paper_size_are_refused(tmp_path):
    with pytest.raises(BadValueError, match="does not show its heading"):
        start_run(small(tmp_path, "push-t"), tmp_path / "run", quiet)
    with pytest.raises(BadValueError, match="--size paper"):
        Axes(obs="pixels", method="td3", values="per-entity", size="paper")
    with pytest.raises(BadValueError, match="td3 or td3-privileged"):
        Axes(obs="pixels", method="dagger", values="per-entity")
    with pytest.raises(BadValueError, match="no position in the image"):
        start_run(
            make_experiment("one-cube", replace(AXES, encoder="slots-6cubes")),
            tmp_path / "slots", quiet, load_encoder=_zoo_encoder,
        )  # fmt: skip


def _zoo_encoder(name: str):
    from jostle.zoo.encoders import load_encoder

    return load_encoder(name)
