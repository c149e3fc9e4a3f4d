"""Trainings as job lists: several seeds, and sweeps of settings x seeds."""

import itertools
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jostle.cluster.jobs import Job
from jostle.core.checks import check_folder_name, check_int
from jostle.core.errors import BadValueError, require
from jostle.presets.words import TrainConfig, parse_words
from jostle.reports.learning_curves import Rows, read_learning_curve
from jostle.runs.config import read_config
from jostle.runs.run_dir import RunDir


@dataclass(frozen=True, kw_only=True)
class AshaConfig:
    """Asynchronous successive halving: trials that are behind are stopped early."""

    grace: int
    """Environment steps before a trial can be stopped."""
    reduction: int = 3
    """Of so many trials, one goes on at each rung."""

    def __post_init__(self) -> None:
        """Refuse values that stop nothing or everything."""
        check_int("grace", self.grace, 1)
        check_int("reduction", self.reduction, 2)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One training with several settings and seeds."""

    train: str
    """Words behind `jostle train`."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of each setting."""
    title: str = "Sweep"
    """Title of its page."""
    notes: str = ""
    """What its page says below table and curves, in Markdown."""
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Values to try, by flag without dashes: all combinations."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """Further words behind `jostle train` to try, by name: one change at a time."""
    asha: AshaConfig | None = None
    """Whether and how trials are stopped early."""

    def __post_init__(self) -> None:
        """Refuse a sweep without trials."""
        require(len(self.seeds) > 0, "A sweep needs at least one seed.")
        for flag, values in self.settings.items():
            require(
                isinstance(values, list | tuple) and len(values) > 0,
                f"The setting {flag} must be a list of values, not {values!r}.",
            )
        for name, words in self.variants.items():
            require(
                isinstance(words, str),
                f"The variant {name} must be words of 'jostle train', not {words!r}.",
            )

    def trials(self) -> dict[str, list[str]]:
        """Words behind `jostle train` by the folder of each setting, and of each variant of it."""
        trials = {}
        for values in itertools.product(*self.settings.values()):
            setting = dict(zip(self.settings, values, strict=True))
            words = [word for item in setting.items() for word in flag_words(*item)]
            for name, more in (self.variants or {"": ""}).items():
                folder = label([*map(_text, setting.items()), *([name] if name else [])])
                trials[folder] = [*self.train.split(), *words, *more.split()]
        return trials

    def jobs(self, out: Path) -> list[Job]:
        """One job per trial and seed; every trial has a folder of its own."""
        trials = self.trials().items()
        return [job for name, words in trials for job in seed_jobs(words, self.seeds, out / name)]

    def env_steps(self) -> int:
        """Environment steps of the longest trial."""
        configs = [parse(words) for words in self.trials().values()]
        return max(config.experiment.training.env_steps for config in configs)


def read_sweep(path: Path) -> Sweep:
    """Read a study of a sweep; every trial is checked."""
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadValueError(f"{path} is not a sweep: {error}.") from error
    require("train" in content, f"{path} is not a sweep: it has no 'train'.")
    asha = content.pop("asha", None)
    settings, variants = content.pop("settings", {}), content.pop("variants", {})
    require(isinstance(settings, dict), f"{path}: settings must be a table of lists.")
    require(isinstance(variants, dict), f"{path}: variants must be a table of words.")
    parsed = None if asha is None else read_config(AshaConfig, asha, "asha")
    fields = {**content, "seeds": tuple(content.get("seeds", (0,)))}
    plain = read_config(_Plain, fields, "a sweep")
    sweep = Sweep(**vars(plain), settings=settings, variants=variants, asha=parsed)
    sweep.jobs(Path("runs"))
    return sweep


@dataclass(frozen=True, kw_only=True)
class _Plain:
    """Fields of a sweep without the nested ones."""

    train: str
    seeds: tuple[int, ...] = (0,)
    title: str = "Sweep"
    notes: str = ""


def seed_jobs(words: Sequence[str], seeds: Sequence[int], out: Path) -> list[Job]:
    """One training per seed with one thread each; `words` are those behind `jostle train`."""
    jobs, out = [], out.absolute()
    require(len(set(seeds)) == len(seeds), f"A seed is named twice: {' '.join(map(str, seeds))}.")
    for seed in seeds:
        check_int("seed", seed, 0)
        own = [*words, "--seed", str(seed), "--threads", "1", "--out", str(out)]
        experiment = parse(own).experiment
        folder = out / f"{experiment.name}-{seed}"
        resume = ("train", "--resume", str(folder), "--quiet")
        start = ("train", *own, "--quiet")
        name = f"{out.name}/{folder.name}"
        jobs.append(Job(name=name, folder=folder, start=start, resume=resume))
    return jobs


def parse(words: Sequence[str]) -> TrainConfig:
    """Read the words behind `jostle train`; wrong flags are an error, not the end."""
    try:
        return parse_words(list(words))
    except SystemExit:
        raise BadValueError(f"Some flags are wrong: jostle train {' '.join(words)}") from None


def flag_words(flag: str, value: Any) -> list[str]:
    """Words of one setting."""
    name = f"--{flag.replace('_', '-')}"
    if isinstance(value, bool):
        return [name if value else f"--no-{name[2:]}"]
    return [name, *map(str, value if isinstance(value, list | tuple) else [value])]


def label(parts: Sequence[str]) -> str:
    """Name of the folder of a trial; empty, the folder of the sweep itself, without parts."""
    text = ",".join(parts)
    if text:
        check_folder_name("The name of a setting", text)
    return text


def _text(item: tuple[str, Any]) -> str:
    flag, value = item
    return f"{flag}={value}".replace(" ", "")


def unfinished(jobs: Sequence[Job]) -> list[Job]:
    """Jobs whose training is not done."""
    return [job for job in jobs if not RunDir(job.folder).final.is_file()]


def learning_curves(jobs: Sequence[Job], stopped: Collection[str]) -> dict[str, list[Rows]]:
    """Evaluations of every seed, by the name of the setting; empty while a trial goes on.

    `stopped` are names of jobs that were stopped early and will not go on.
    """
    going_on = {job.name for job in unfinished(jobs)} - set(stopped)
    curves: dict[str, list[Rows]] = {}
    for job in jobs:
        rows = [] if job.name in going_on else read_learning_curve(RunDir(job.folder))
        curves.setdefault(job.folder.parent.name, []).append(rows)
    return curves
