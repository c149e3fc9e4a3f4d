"""A model of the zoo made again: every training behind it, in an order that they can be run in."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from jostle.cluster.jobs import Job
from jostle.core.catalog import Catalog
from jostle.core.checks import check_int
from jostle.presets.recipes import ENCODER_RECIPES, RECIPES
from jostle.pretraining.config import preset
from jostle.runs.run_dir import RunDir
from jostle.training.experiment import Experiment
from jostle.zoo.agents import training_history
from jostle.zoo.registry import agents, resolve_name
from jostle.zoo.sweep import parse

_NAMES_MODELS = ("--from", "--teacher", "--critics-from", "--encoder")
"""Flags whose values can be models of the zoo."""

Recipes = Catalog[str | tuple[str, ...]]
"""Words of one training, or for encoders of several commands, by the model's name."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One command on the way to a model."""

    job: Job
    """The command, and the folder it writes."""
    needs: tuple[str, ...] = ()
    """Names of the stages whose results it reads."""
    total: int = 0
    """Steps that its metrics count up to; 0: a collection, which is done when its job ends."""
    counter: str = "env_steps"
    """What its metrics count."""

    @property
    def name(self) -> str:
        """Name of its job."""
        return self.job.name

    def progress(self) -> float:
        """Fraction that is done, from 0 to 1."""
        if not self.total:
            return 0.0
        run = RunDir(self.job.folder)
        if run.final.is_file():
            return 1.0
        rows = [row for each in (*run.stages(), run) for row in each.rows()[-1:]]
        return min(sum(row[self.counter] for row in rows) / self.total, 1.0)

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        run = RunDir(self.job.folder)
        if self.counter == "env_steps":  # a curriculum may end before all its steps
            return run.final.is_file()
        return self.total > 0 and self.progress() == 1.0


def plan(name: str, out: Path, seed: int = 0, with_encoders: bool = False) -> list[Stage]:
    """All stages behind a model, each after those that it needs.

    Args:
        name: An agent or encoder of the zoo, or a default such as `three-cubes-pixels`.
        out: Folder for the runs and frames.
        seed: Seed of all of them.
        with_encoders: Whether encoders are trained, too; otherwise those of the zoo are used.
    """
    check_int("seed", seed, 0)
    stages: dict[str, Stage] = {}
    recipes: Recipes = Catalog("recipe", {**RECIPES, **ENCODER_RECIPES})
    _add(recipes, resolve_name(name), out.absolute(), seed, with_encoders, stages)
    return list(stages.values())


def next_stage(
    stages: Sequence[Stage], started: Collection[str], finished: Collection[str]
) -> Stage | None:
    """The first stage that is neither done nor started, and whose needs are all done."""
    done = {stage.name for stage in stages if stage.done}.union(finished)
    for stage in stages:
        if stage.name not in done.union(started) and done.issuperset(stage.needs):
            return stage
    return None


def minutes_of_the_zoo(names: Collection[str]) -> float:
    """Minutes that the trainings of these agents took when the zoo was made, each counted once."""
    stages = {
        json.dumps(stage, sort_keys=True): float(stage.get("minutes", 0.0))
        for name in names
        if name in agents()
        for stage in training_history(name)
    }
    return sum(stages.values())


def _add(
    recipes: Recipes,
    name: str,
    out: Path,
    seed: int,
    with_encoders: bool,
    stages: dict[str, Stage],
) -> None:
    """Add the stages behind a model, and its own."""
    if name in stages:
        return
    recipe = recipes[name]
    if not isinstance(recipe, str):
        for stage in _encoder_stages(name, recipe, out, seed):
            stages[stage.name] = stage
        return

    # What it starts from, imitates or sees through is made first, and read from its folder
    words = recipe.split()
    experiment = parse(words).experiment
    words += _defaults(words, experiment, with_encoders)
    needs = []
    for index, (flag, value) in enumerate(pairwise(words), 1):
        if flag in _NAMES_MODELS and value in recipes:
            _add(recipes, value, out, seed, with_encoders, stages)
            words[index] = str(stages[value].job.folder)
            needs.append(value)

    # Its own training
    own = ["--name", name, "--seed", str(seed), "--threads", "1", "--out", str(out), "--quiet"]
    folder = out / f"{name}-{seed}"
    job = Job(
        name=name,
        folder=folder,
        start=("train", *words, *own),
        resume=("train", "--resume", str(folder), "--quiet"),
    )
    stages[name] = Stage(job=job, needs=tuple(needs), total=_env_steps(experiment))


def _defaults(words: Sequence[str], experiment: Experiment, with_encoders: bool) -> list[str]:
    """Flags for the models that an experiment uses by default."""
    defaults = []
    if experiment.training.method == "dagger" and "--teacher" not in words:
        defaults += ["--teacher", experiment.training.teacher]
    if with_encoders and experiment.encoder:
        defaults += ["--encoder", experiment.encoder]
    return defaults


def _encoder_stages(name: str, recipe: Sequence[str], out: Path, seed: int) -> list[Stage]:
    """Collections of frames, one after the other into one folder, then the training."""
    folder, frames = out / f"{name}-{seed}", out / f"{name}-frames"
    stages: list[Stage] = []
    *collections, training = (words.format(frames=frames).split() for words in recipe)
    for number, words in enumerate(collections, 1):
        before = stages[-1].name if stages else None
        job = Job(name=f"{name}-frames-{number}", folder=frames, start=(*words, "--quiet"))
        stages.append(Stage(job=job, needs=(before,) if before else ()))
    own = ["--name", name, "--seed", str(seed), "--threads", "1", "--out", str(out), "--quiet"]
    job = Job(
        name=name,
        folder=folder,
        start=(*training, *own),
        resume=("pretrain", "--resume", str(folder), "--quiet"),
    )
    steps = _pretraining_steps(training)
    stages.append(Stage(job=job, needs=(stages[-1].name,), total=steps, counter="step"))
    return [stages[-1]] if stages[-1].done else stages


def _env_steps(experiment: Experiment) -> int:
    """Environment steps of a training, with those of its curriculum."""
    own = experiment.training.env_steps
    return (
        own + sum(experiment.curriculum.stage_env_steps) if experiment.training.curriculum else own
    )


def _pretraining_steps(words: Sequence[str]) -> int:
    """Steps of an encoder's training: the flag, or the preset's."""
    if "--steps" in words:
        return int(words[words.index("--steps") + 1])
    return preset(words[1], "lite").steps
