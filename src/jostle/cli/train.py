"""`jostle train PRESET`: learn; `jostle train --resume RUN`: go on learning."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tqdm import tqdm

from jostle.cli.stopping import Stopper
from jostle.core.clock import time_told
from jostle.core.errors import BadValueError
from jostle.presets.catalog import PRESETS
from jostle.training.experiment import Experiment
from jostle.training.rounds import Rounds, StopAskedError
from jostle.training.start import begin, go_on
from jostle.zoo.agents import teacher_for, weights_for
from jostle.zoo.encoders import look

_SHOWN = {
    "success": "success", "train_success": "train", "value": "Q", "critic_loss": "critic",
    "imitation_loss": "loss", "best": "best",
}  # fmt: skip
"""What the bar has room for, and under which name."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Train a preset; every field of the experiment can be overridden."""

    experiment: tyro.conf.OmitArgPrefixes[Experiment]
    """What to train."""
    out: Path = Path("runs")
    """Folder for runs."""
    start: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """Start from the weights of a run, a file or a name of the zoo; memory begins empty."""
    minutes: float | None = None
    """Stop cleanly after so many minutes; go on later with --resume."""


@dataclass(frozen=True, kw_only=True)
class ResumeConfig:
    """Go on with a run, bit by bit as if it had never stopped."""

    resume: Path
    """Folder of the run."""
    minutes: float | None = None
    """Stop cleanly after so many minutes."""


class Bar:
    """The progress bar, and the clock behind --minutes."""

    def __init__(self, minutes: float | None) -> None:
        """Start the clock."""
        self._end = time.monotonic() + 60 * minutes if minutes else None
        self._stopper = Stopper()
        self._shown: dict[str, str] = {}
        self._bar: Any = None

    def __call__(self, row: dict[str, Any]) -> None:
        """Show a round."""
        self._shown |= {short: f"{row[key]:.3f}" for key, short in _SHOWN.items() if key in row}
        self._bar.update(row["env_steps"] - self._bar.n)
        self._bar.set_postfix(self._shown)
        if self._end is not None and time.monotonic() > self._end:
            raise StopAskedError
        self._stopper.check()

    def watch(self, rounds: Rounds) -> bool:
        """Train; False when stopped before the end (and saved)."""
        total, done = rounds.experiment.training.env_steps, rounds.counters["env_steps"]
        with tqdm(total=total, initial=done, unit="step") as self._bar:
            try:
                rounds.run()
            except StopAskedError:
                rounds.save()
                return False
        return True


def _overview() -> str:
    """How to train, and every preset, by what it reads and how it learns."""
    lines = [
        "usage: jostle train PRESET [--field value ...]    train (its fields: PRESET --help)",
        "       jostle train --resume RUN [--minutes M]    go on with a run",
        "",
        "Presets are TASK-READING, or TASK-READING-WAY:",
    ]
    for reading in ("state", "pixels"):
        ways: dict[str, list[str]] = {}
        for name in PRESETS:
            task, found, way = name.partition(f"-{reading}")
            if found:
                ways.setdefault(way.removeprefix("-"), []).append(task)
        lines += ["", f"  TASK-{reading}: {', '.join(ways.pop(''))}"]
        for way, tasks in ways.items():
            lines.append(f"  TASK-{reading}-{way}: {', '.join(tasks)}")
    return "\n".join(lines)


def run(argv: list[str]) -> None:
    """Train until done, stopped or out of time."""
    if "--resume" in argv:
        again = tyro.cli(ResumeConfig, prog="jostle train", args=argv)
        bar, folder = Bar(again.minutes), again.resume
        rounds = go_on(folder, bar, find=teacher_for)
    else:
        if argv and argv[0] in ("-h", "--help"):
            print(_overview())
            return
        if not argv or argv[0].startswith("-"):
            raise BadValueError(f"Name a preset first.\n\n{_overview()}")
        default = TrainConfig(experiment=PRESETS[argv[0]])
        config = tyro.cli(
            TrainConfig, prog=f"jostle train {argv[0]}", default=default, args=argv[1:]
        )
        bar = Bar(config.minutes)
        folder = config.out / f"{config.experiment.name}-{config.experiment.seed}"
        weights = None if config.start is None else weights_for(config.start)
        rounds = begin(config.experiment, folder, bar, weights, teacher_for, look)
    finished = bar.watch(rounds)
    if spent := time_told(rounds.rows()):
        print(f"where the time went: {spent}")
    if finished:
        print(f"done: {folder} (best success while training {rounds.counters['best']:.3f})")
    else:
        print(f"\nstopped and saved; go on with: jostle train --resume {folder}")
