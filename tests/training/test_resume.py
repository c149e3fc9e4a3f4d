"""Resumed runs: longer totals, runs without checkpoints, and weights before an evaluation."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import jostle  # noqa: E402
from experiments import (  # noqa: E402
    DAGGER,
    TD3,
    assert_same_tensors,
    metric_rows,
    quiet,
    stop_at,
    tiny,
    tiny_pixels,
)
from jostle.core.checkpoint import CheckpointError, load  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402
from jostle.zoo.agents import own_task, required_env_kwargs  # noqa: E402

ONE = 4 * 30
"""Environment steps of an iteration of `tiny`."""


def longer(axes=TD3, **training):
    return tiny(axes=axes, env_steps=12 * ONE, **training)


def stopped(experiment, folder: Path, iteration: int = 1, error=StopRequested) -> Path:
    """A run that was stopped after an iteration."""
    with pytest.raises(error):
        start_run(experiment, folder, stop_at(iteration, error)).run()
    return folder


def test_a_finished_run_goes_on_as_if_it_had_been_longer_from_the_start(tmp_path):
    start_run(longer(), tmp_path / "whole", quiet).run()
    start_run(tiny(), tmp_path / "extended", quiet).run()
    notes: list[str] = []
    resume_run(tmp_path / "extended", quiet, env_steps=12 * ONE, notify=notes.append).run()
    assert metric_rows(tmp_path / "extended") == metric_rows(tmp_path / "whole")
    for name in ("last", "best", "best-critics", "final", "final-critics"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "extended" / file)
    experiments = [
        json.loads((tmp_path / run / "experiment.json").read_text())
        for run in ("whole", "extended")
    ]
    assert experiments[0] == experiments[1]
    assert [note for note in notes if "goes on to 1,440" in note]
    assert not any("Step sizes" in note for note in notes)


def test_a_run_whose_step_sizes_depend_on_the_total_says_what_becomes_of_them(tmp_path):
    assert longer(DAGGER).training.lr_decay_fraction == 0.5
    start_run(tiny(axes=DAGGER), tmp_path / "run", quiet).run()
    notes: list[str] = []
    trainer = resume_run(tmp_path / "run", quiet, env_steps=12 * ONE, notify=notes.append)
    (note,) = [note for note in notes if "Step sizes" in note]
    assert "now 1.00 of their full size, by the old one they were 0.05" in note
    trainer.run()
    assert metric_rows(tmp_path / "run")[-1]["env_steps"] == 12 * ONE


def test_a_run_can_be_stopped_at_an_earlier_total_but_not_in_its_past(tmp_path):
    run = stopped(tiny(), tmp_path / "run", 3)
    before = (run / "experiment.json").read_text()
    for steps in (1, 3 * ONE):
        with pytest.raises(BadValueError, match="has done 360 environment steps already") as caught:
            resume_run(run, quiet, env_steps=steps)
        assert "\n" not in str(caught.value)
        assert (run / "experiment.json").read_text() == before
    resume_run(run, quiet, env_steps=4 * ONE).run()
    assert metric_rows(run)[-1]["env_steps"] == 4 * ONE
    assert RunDir(run).final.is_file()


def test_the_total_of_a_run_in_use_is_not_changed(tmp_path):
    run = stopped(tiny(), tmp_path / "run", 3)
    before = (run / "experiment.json").read_text()
    with RunDir(run).lock(), pytest.raises(BadValueError, match="in use"):
        resume_run(run, quiet, env_steps=12 * ONE)
    assert (run / "experiment.json").read_text() == before


def test_python_extends_runs_and_refuses_other_settings(tmp_path):
    run = stopped(tiny(eval_every=1), tmp_path / "run")
    with pytest.raises(BadValueError, match="not batch_size"):
        jostle.train(resume=run, batch_size=3, progress=False)
    trained = jostle.train(resume=run, env_steps=2 * ONE, progress=False)
    assert trained.finished
    assert [row["iteration"] for row in trained.metrics] == [1, 2]


def test_a_run_without_a_checkpoint_starts_at_zero_says_so_and_keeps_its_metrics(tmp_path):
    experiment = tiny(save_every=50, eval_every=1)
    run = RunDir(stopped(experiment, tmp_path / "run", 2, KeyboardInterrupt))
    assert not run.last.exists()
    rows, best = run.metrics.read_text(), run.best.read_bytes()
    for number in (1, 2):
        notes: list[str] = []
        trainer = resume_run(run.path, stop_at(2, KeyboardInterrupt), notify=notes.append)
        (note,) = notes
        assert "has no checkpoint: it starts at zero" in note
        assert f"metrics-{number}.jsonl, checkpoints-{number}" in note
        assert not run.metrics.exists()
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
    assert (run.path / "metrics-1.jsonl").read_text() == rows
    assert (run.path / "checkpoints-1/best.safetensors").read_bytes() == best
    resume_run(run.path, quiet).run()
    assert [row["iteration"] for row in run.rows()] == [1, 2, 3, 4, 5, 6]


def test_a_run_that_started_from_weights_keeps_them_when_it_is_killed_early(tmp_path):
    start_run(tiny(), tmp_path / "first", quiet).run()
    start_run(replace(tiny(), seed=1), tmp_path / "whole", quiet, tmp_path / "first").run()
    killed = start_run(
        replace(tiny(), seed=1),
        tmp_path / "killed",
        stop_at(1, KeyboardInterrupt),
        tmp_path / "first",
    )
    with pytest.raises(KeyboardInterrupt):
        killed.run()
    resume_run(tmp_path / "killed", quiet).run()
    assert metric_rows(tmp_path / "killed") == metric_rows(tmp_path / "whole")
    RunDir(tmp_path / "killed").last.unlink()
    with pytest.raises(CheckpointError, match="--from"):
        resume_run(tmp_path / "killed", quiet)


def test_a_run_without_an_evaluation_is_played_by_its_last_checkpoint(tmp_path):
    run = stopped(tiny(), tmp_path / "run")
    assert not RunDir(run).best.exists()
    experiment, agent = load_agent(run)
    assert experiment == tiny()
    saved = load(RunDir(run).last)[0]
    for name, tensor in agent.acting_tensors().items():
        assert torch.equal(tensor, saved[f"agent.{name}"])
    assert own_task(str(run)) == ("OneCube", None)
    assert len(jostle.evaluate(str(run), episodes=2, num_envs=2).rows) == 2
    start_run(tiny(), tmp_path / "next", quiet, run)


@pytest.mark.parametrize("method", ["dagger", "td3-privileged"])
def test_a_pixel_run_without_an_evaluation_is_played_with_its_encoder(method, tmp_path):
    run = stopped(tiny_pixels(tmp_path, method=method), tmp_path / "run")
    assert not RunDir(run).best.exists()
    assert required_env_kwargs(str(run))["image_size"] == 128
    agent = jostle.load_agent(run)
    assert agent.agent.sensor is not None
    assert len(jostle.evaluate(agent, episodes=1, num_envs=1).rows) == 1


def test_a_run_without_any_weights_says_so(tmp_path):
    start_run(tiny(), tmp_path / "run", quiet)
    for load_run in (
        lambda: jostle.load_agent(tmp_path / "run"),
        lambda: own_task(str(tmp_path / "run")),
    ):
        with pytest.raises(BadValueError, match="no weights yet") as caught:
            load_run()
        assert "\n" not in str(caught.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadValueError, match="There is no run"):
        jostle.load_agent(tmp_path / "empty")
