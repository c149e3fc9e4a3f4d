"""`jostle train`: learn, or go on learning."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from tqdm import tqdm

from jostle.core.errors import BadValueError
from jostle.presets.catalog import PRESETS
from jostle.training.experiment import Experiment
from jostle.training.rounds import Rounds
from jostle.training.start import begin, describe, go_on


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Train a preset; every field of the experiment can be overridden."""

    experiment: tyro.conf.OmitArgPrefixes[Experiment]
    """What to train."""
    out: Path = Path("runs")
    """Folder for runs."""
    resume: Path | None = None
    """Go on with the run in this folder instead of starting a new one."""
    weights: Path | None = None
    """Start from the weights in this file; memory begins empty."""
    minutes: float | None = None
    """Stop cleanly after so many minutes; go on later with --resume."""


def run(argv: list[str]) -> None:
    """Train until done, stopped or out of time."""
    if argv[:1] == ["--resume"] and len(argv) >= 2:
        config = TrainConfig(
            experiment=next(iter(PRESETS.values())),
            resume=Path(argv[1]),
            minutes=_minutes(argv[2:]),
        )
        clock = _Clock(config.minutes)
        rounds = go_on(Path(argv[1]), clock)
        folder = Path(argv[1])
    else:
        if not argv or argv[0].startswith("-"):
            raise BadValueError(f"Name a preset first. Known: {', '.join(PRESETS)}.")
        default = TrainConfig(experiment=PRESETS[argv[0]])
        config = tyro.cli(
            TrainConfig, prog=f"jostle train {argv[0]}", default=default, args=argv[1:]
        )
        clock = _Clock(config.minutes)
        if config.resume is not None:
            folder, rounds = config.resume, go_on(config.resume, clock, config.experiment)
        else:
            folder = config.out / f"{config.experiment.name}-{config.experiment.seed}"
            rounds = begin(config.experiment, folder, clock, config.weights)
    _train(rounds, clock, folder)


class _Clock:
    """The progress bar, and the end of the time that was given."""

    def __init__(self, minutes: float | None) -> None:
        self._end = time.monotonic() + 60 * minutes if minutes else None
        self.bar: Any = None

    def __call__(self, row: dict[str, Any]) -> None:
        self.bar.update(row["env_steps"] - self.bar.n)
        self.bar.set_postfix({**getattr(self, "shown", {}), **describe(row)})
        self.shown = {**getattr(self, "shown", {}), **describe(row)}
        if self._end is not None and time.monotonic() > self._end:
            raise KeyboardInterrupt


def _train(rounds: Rounds, clock: _Clock, folder: Path) -> None:
    total = rounds.experiment.training.env_steps
    with tqdm(total=total, initial=rounds.counters["env_steps"], unit="step") as bar:
        clock.bar = bar
        try:
            rounds.run()
        except KeyboardInterrupt:
            rounds.save()
            print(f"\nstopped and saved; go on with: jostle train --resume {folder}")
            return
    print(f"done: {folder} (best success while training {rounds.counters['best']:.3f})")


def _minutes(rest: list[str]) -> float | None:
    return float(rest[1]) if len(rest) == 2 and rest[0] == "--minutes" else None
