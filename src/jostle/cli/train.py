"""`jostle train TASK`: train an agent; `jostle train --resume RUN`: resume a training."""

import os
from dataclasses import dataclass
from pathlib import Path

import tyro

from jostle.core.checks import check_int, check_minutes
from jostle.core.errors import BadValueError, require
from jostle.presets.axes import Axes
from jostle.presets.recipes import RECIPES
from jostle.presets.words import TrainConfig, parse_words

_SHOWN = {
    "success": "success", "train_success": "train", "image_success": "success by images",
    "train_image_success": "train by images", "q_mean": "Q", "critic_loss": "critic",
    "imitation_loss": "loss", "bc_loss": "bc",
}  # fmt: skip
"""Metrics that the bar has room for, and their short names."""
_EVALUATED = ("success", "image_success")
"""Metrics of which evaluations have one."""


@dataclass(frozen=True, kw_only=True)
class ResumeConfig:
    """Resume a run bit-for-bit, as if it had never stopped."""

    resume: Path
    """Folder of the run."""
    env_steps: int | None = None
    """A new total of environment steps, also for a run that is finished."""
    minutes: float | None = None
    """Stop after so many minutes and save."""
    workers: int | None = None
    """Another number of workers; a run with --sync or without workers keeps its groups."""
    ray: str | None = None
    """Address of another Ray cluster; empty: this machine."""

    def __post_init__(self) -> None:
        """Refuse time limits that leave no time."""
        check_minutes(self.minutes)


def run(argv: list[str]) -> int:
    """Train until done, stopped or out of time; returns the exit code."""
    if any(word.split("=")[0] == "--resume" for word in argv):
        return _resume(tyro.cli(ResumeConfig, prog="jostle train", args=argv))
    if argv and argv[0] in ("-h", "--help"):
        print(_overview())
        return 0
    if not argv or argv[0].startswith("-"):
        raise BadValueError(f"Name a task first.\n\n{_overview()}")
    if "--help" in argv or "-h" in argv:
        print(_axes_help())
    if any(word.split("=")[0] == "--seeds" for word in argv):
        return _start_seeds(argv)
    return _start(parse_words(argv))


def _resume(config: ResumeConfig) -> int:
    from jostle.cli.progress import ProgressBar
    from jostle.training.start import resume_run
    from jostle.zoo.agents import load_teacher

    bar = ProgressBar(config.minutes, _EVALUATED, _SHOWN)
    asked = {"workers": config.workers, "ray": config.ray}
    collection = {name: value for name, value in asked.items() if value is not None}
    trainer = resume_run(
        config.resume, bar, load_teacher=load_teacher, env_steps=config.env_steps, notify=print,
        collection=collection,
    )  # fmt: skip
    return bar.train(trainer, "train")


def _start(config: TrainConfig) -> int:
    from jostle.cli.progress import ProgressBar
    from jostle.zoo.start import start_training

    bar = ProgressBar(config.minutes, _EVALUATED, _SHOWN)
    return bar.train(start_training(config, bar), "train")


@dataclass(frozen=True, kw_only=True)
class SeedsConfig:
    """Train once per seed, one thread each, several at a time; repeat the command to resume."""

    seeds: tuple[int, ...]
    """Seeds."""
    jobs: int = 0
    """Trainings at a time; 0: one per core of this machine."""
    ray: str | None = None
    """Address of a Ray cluster whose machines share the folder of the runs; without it, processes
    of this machine."""
    out: Path = Path("runs")
    """Folder for runs."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("jobs", self.jobs, 0)


def _start_seeds(argv: list[str]) -> int:
    """One job per seed."""
    from jostle.cluster.executors import in_order, make_executor
    from jostle.cluster.jobs import JobResult, stops_on_sigterm
    from jostle.zoo.sweep import seed_jobs, unfinished

    config, words = tyro.cli(
        SeedsConfig, prog="jostle train", args=argv[1:], return_unknown_args=True
    )
    for flag in ("--seed", "--threads", "--workers"):
        require(flag not in words, f"--seeds starts one training per seed: leave out {flag}.")
    jobs = seed_jobs([argv[0], *words], config.seeds, config.out)
    left, results = unfinished(jobs), list[JobResult]()
    print(f"{len(jobs)} trainings in {config.out}, {len(left)} to run")

    def on_end(result: JobResult) -> None:
        results.append(result)
        print(result.describe(), flush=True)

    if left:
        with stops_on_sigterm():
            make_executor(config.ray, config.jobs or os.cpu_count() or 1).run(
                in_order(left), on_end
            )
    return 1 if any(result.outcome == "failed" for result in results) else 0


def _axes_help() -> str:
    """The axes with their defaults."""
    fields = Axes.__dataclass_fields__
    flags = [f"  --{name.replace('_', '-')} (default: {fields[name].default})" for name in fields]
    return "\n".join(("Choices that set the defaults of all other fields:", *flags, ""))


def _overview() -> str:
    """How to train, and the recipes that made the zoo."""
    lines = [
        "usage: jostle train TASK [--obs state|pixels|objects] [--size fast|paper]",
        "                         [--method td3|td3-demos|td3-privileged|dagger]",
        "                         [--method bc|iql|iql-privileged --data RECORDING]",
        "                         [--values pooled|per-entity] [--arch eit|smorl|mlp]",
        "                         [--encoder NAME] [--views 1|2]",
        "                         [--colors fixed|random] [--field value ...]",
        "                         [--from RUN [--carry actor|all] [--finetune]]",
        "                         [--critics-from STATE-AGENT] [--minutes M]",
        "       jostle train --resume RUN [--minutes M]     resume a training",
        "       jostle train --resume RUN --env-steps N     train on, to a new total",
        "       jostle train TASK --help                    all fields",
        "",
        "TASK is a task of 'jostle tasks' (three-cubes), or cubes (one to three), or push-2t.",
        "'jostle train three-cubes' learns without a teacher, with one and two cubes first.",
        "",
        "Recipes of the zoo (each is 'jostle train' with these words):",
    ]
    return "\n".join((*lines, *(f"  {words}" for words in RECIPES.values())))
