"""A curriculum: stages with fewer objects, each from the weights of the one before."""

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from experiments import assert_same_tensors, quiet, tiny  # noqa: E402
from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.reports.learning_curves import read_learning_curve  # noqa: E402
from jostle.runs.run_dir import RunDir, critics_file  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.training.curriculum import CurriculumTrainer, stages_of  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402


def small(**training):
    """Stages of two iterations with one and two cubes, then two iterations with three."""
    experiment = tiny(
        "three-cubes", num_envs=2, horizon=5, env_steps=20, eval_every=1, eval_episodes=2,
        utd_ratio=0.2, save_every=1, curriculum=True, random_episodes=0, **training,
    )  # fmt: skip
    stages = replace(
        experiment.curriculum, stage_env_steps=(20, 20), stage_horizons=(5, 5),
        random_episodes_first=2,
    )  # fmt: skip
    return replace(experiment, curriculum=stages)


def test_learning_without_a_teacher_is_the_default_and_has_a_curriculum():
    experiment = make_experiment("three-cubes", Axes())
    assert experiment.training.method == "td3"
    assert experiment.training.curriculum
    assert experiment.net.values == "per-entity"
    assert experiment.curriculum.stage_objects == (1, 2)
    assert not make_experiment("one-cube", Axes()).training.curriculum


def test_stages_have_their_own_number_of_objects_and_exploration(tmp_path):
    experiment = make_experiment("three-cubes", Axes())
    first, second, last = (stage.experiment for stage in stages_of(experiment, RunDir(tmp_path)))
    assert [stage.max_objects for stage in (first, second, last)] == [1, 2, 3]
    assert first.explore.epsilon > second.explore.epsilon == last.explore.epsilon
    assert (first.training.random_episodes, second.training.random_episodes) == (64, 0)
    assert last is experiment
    assert first.td3 == second.td3 == last.td3


def test_a_later_stage_starts_from_all_networks_of_the_one_before(tmp_path):
    trainer = start_run(small(), tmp_path / "run", quiet)
    assert isinstance(trainer, CurriculumTrainer)
    first = trainer._open()
    first.run()
    trainer._skip_finished()
    second = trainer._open()
    stage = RunDir(tmp_path / "run").stage(1)
    carried = load(stage.best)[0] | load(critics_file(stage.best))[0]
    own = second.components.agent.state_dict()[0]
    assert {name.split(".")[0] for name in carried} >= {
        "actor", "critics", "target_actor", "target_critics", "normalizer",
    }  # fmt: skip
    for name, tensor in carried.items():
        assert torch.equal(own[name], tensor), name


def test_the_lineage_names_every_stage_and_no_teacher(tmp_path):
    start_run(small(), tmp_path / "run", quiet).run()
    history = load(RunDir(tmp_path / "run").final)[1]["history"]
    assert [stage["method"] for stage in history] == ["td3", "td3", "td3"]
    assert history[0]["recipe"].endswith("stage-1")


def test_metrics_count_the_steps_of_all_stages(tmp_path):
    rows = []
    trainer = start_run(small(), tmp_path / "run", rows.append)
    assert trainer.total == 60
    trainer.run()
    assert [(row["stage"], row["env_steps"]) for row in rows] == [
        (1, 10), (1, 20), (2, 30), (2, 40), (3, 50), (3, 60),
    ]  # fmt: skip
    assert trainer.done
    curve = read_learning_curve(RunDir(tmp_path / "run"))
    assert [row["env_steps"] for row in curve] == [50, 60]


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_stopped_curriculum_resumes_bit_for_bit(stop, tmp_path):
    start_run(small(), tmp_path / "whole", quiet).run()
    seen = []

    def report(row):
        seen.append(row)
        if len(seen) == stop:
            raise StopRequested

    with pytest.raises(StopRequested):
        start_run(small(), tmp_path / "cut", report).run()
    resumed = resume_run(tmp_path / "cut", seen.append)
    assert resumed.counters["env_steps"] == 10 * stop
    resumed.run()
    assert [row["env_steps"] for row in seen] == [10, 20, 30, 40, 50, 60]
    for name in ("final.safetensors", "last.safetensors"):
        assert_same_tensors(
            tmp_path / "whole" / "checkpoints" / name, tmp_path / "cut" / "checkpoints" / name
        )


def test_a_solved_stage_ends_early(tmp_path):
    experiment = small()
    stages = replace(experiment.curriculum, stage_success=(0.01, 0.01))
    trainer = start_run(replace(experiment, curriculum=stages), tmp_path / "run", quiet)
    first = trainer._open()
    first.counters["solved"] = True
    assert first.done
    assert first.experiment.training.stop_at_success == 0.01


def test_finished_stages_keep_their_weights_and_drop_their_replay_buffer(tmp_path):
    start_run(small(), tmp_path / "run", quiet).run()
    stage = RunDir(tmp_path / "run").stage(1)
    assert stage.best.is_file()
    assert stage.final.is_file()
    assert not stage.last.exists()
    assert RunDir(tmp_path / "run").last.exists()


def test_images_of_early_stages_show_every_color_of_the_last(tmp_path):
    axes = Axes(obs="pixels", method="td3-privileged")
    experiment = make_experiment("three-cubes", axes)
    first, *_, last = (stage.experiment for stage in stages_of(experiment, RunDir(tmp_path)))
    assert (first.colors, len(first.palette)) == ("random", 3)
    assert last.colors == "fixed"
    assert experiment.training.shuffle_object_ids


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stage_objects": (2, 1)}, "rising numbers"),
        ({"stage_objects": (1,)}, "one per stage"),
        ({"stage_objects": (1, 3)}, "fewer objects"),
    ],
)
def test_impossible_stages_are_refused_before_anything_is_written(change, message, tmp_path):
    with pytest.raises(BadValueError, match=message):
        start_run(
            replace(small(), curriculum=replace(small().curriculum, **change)),
            tmp_path / "run",
            quiet,
        )
    assert not (tmp_path / "run").exists()


def test_a_curriculum_without_stages_is_refused():
    nothing = dict.fromkeys(json.loads(json.dumps(small().to_dict()))["curriculum"], ())
    nothing.pop("random_episodes_first")
    with pytest.raises(BadValueError, match="stage-objects"):
        replace(small(), curriculum=replace(small().curriculum, **nothing))


def test_a_curriculum_starts_from_nothing(tmp_path):
    with pytest.raises(BadValueError, match="--no-curriculum"):
        start_run(small(), tmp_path / "run", quiet, weights=tmp_path / "some.safetensors")
