"""A model of the zoo is made again from nothing, stage by stage, and nothing is done twice."""

import pytest

pytest.importorskip("torch")

from experiments import TINY_WORDS
from jostle.cli import reproduce as command
from jostle.core.errors import UnknownNameError
from jostle.presets.recipes import ENCODER_RECIPES, RECIPES
from jostle.runs.run_dir import RunDir
from jostle.zoo import reproduce
from jostle.zoo.registry import encoders
from jostle.zoo.reproduce import next_stage, plan

MODELS = [*RECIPES, *ENCODER_RECIPES]


def test_every_encoder_of_the_zoo_has_a_recipe():
    assert set(ENCODER_RECIPES) == set(encoders())


@pytest.mark.parametrize("name", MODELS)
def test_every_stage_comes_after_what_it_needs_and_the_model_comes_last(name, tmp_path):
    stages = plan(name, tmp_path, with_encoders=True)
    names = [stage.name for stage in stages]
    assert names[-1] == name
    assert len(set(names)) == len(names)
    for number, stage in enumerate(stages):
        assert set(stage.needs) <= set(names[:number])


@pytest.mark.parametrize("name", MODELS)
def test_with_encoders_no_model_of_the_zoo_is_used(name, tmp_path):
    for stage in plan(name, tmp_path, with_encoders=True):
        words = stage.job.start
        own = words[words.index("--name") + 1] if "--name" in words else None
        assert own in (None, stage.name)
        models = {word for word in words if word in MODELS} - {own}
        assert models == set()


def test_without_encoders_those_of_the_zoo_are_used(tmp_path):
    names = {stage.name for stage in plan("three-cubes-pixels", tmp_path)}
    assert names.isdisjoint(ENCODER_RECIPES)


def test_unknown_models_are_refused_with_a_suggestion(tmp_path):
    with pytest.raises(UnknownNameError, match="three-cubes-state-td3"):
        plan("three-cubes-state-td", tmp_path)


def test_stages_start_when_all_that_they_need_is_done(tmp_path):
    stages = plan("push-2t-pixels", tmp_path)
    started, order = set(), []
    while (stage := next_stage(stages, started, order)) is not None:
        started.add(stage.name)
        assert set(stage.needs) <= set(order)
        order.append(stage.name)
    assert sorted(order) == sorted(stage.name for stage in stages)
    first = stages[0].name
    assert next_stage(stages, {first}, ()) is None  # all others need it, and it is not done


def test_two_stages_are_trained_one_from_the_other_and_not_again(tmp_path, monkeypatch, capsys):
    recipes = {"first": TINY_WORDS, "second": f"{TINY_WORDS} --from first"}
    monkeypatch.setattr(reproduce, "RECIPES", recipes)
    words = ["second", "--out", str(tmp_path / "runs"), "--episodes", "0"]
    assert command.run(words) == 0
    output = capsys.readouterr().out
    assert "first: finished" in output
    assert "second: finished" in output
    history = RunDir(tmp_path / "runs" / "second-0").read_history()
    assert [stage["recipe"] for stage in history] == ["first"]
    changed = [(tmp_path / "runs" / f"{name}-0" / "metrics.jsonl").stat() for name in recipes]
    assert command.run(words) == 0
    assert "finished" not in capsys.readouterr().out
    again = [(tmp_path / "runs" / f"{name}-0" / "metrics.jsonl").stat() for name in recipes]
    assert [old.st_mtime_ns for old in changed] == [new.st_mtime_ns for new in again]


def test_a_failed_stage_is_named_and_what_needs_it_is_not_started(tmp_path, monkeypatch, capsys):
    recipes = {
        "first": f"{TINY_WORDS} --random-episodes 400",
        "second": f"{TINY_WORDS} --from first",
    }
    monkeypatch.setattr(reproduce, "RECIPES", recipes)
    assert command.run(["second", "--out", str(tmp_path / "runs"), "--episodes", "0"]) == 1
    output = capsys.readouterr().out
    assert "first: failed" in output
    assert "not done: first, second" in output
    assert not (tmp_path / "runs" / "second-0").exists()


def test_the_plan_counts_the_steps_that_the_metrics_count(tmp_path):
    stages = {stage.name: stage for stage in plan("cubes-pixels-dagger-colors", tmp_path, 0, True)}
    curriculum = stages["three-cubes-state-td3"]
    assert curriculum.total == 28_800 + 33_600 + 44_800
    assert stages["dlp-6cubes"].total == 16_000
    run = RunDir(curriculum.job.folder / "stages" / "1")
    run.path.mkdir(parents=True)
    run.log({"env_steps": 28_800})
    assert curriculum.progress() == pytest.approx(28_800 / curriculum.total)
    assert not curriculum.done
