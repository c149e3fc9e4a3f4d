"""Training from Python, with the words of `jostle train`."""

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tqdm import tqdm

from jostle.api.agent import LoadedAgent, load_agent
from jostle.core.checks import check_minutes
from jostle.core.errors import BadValueError
from jostle.presets.words import parse_words
from jostle.runs.resume import ignore
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import StopRequested, Training
from jostle.training.start import resume_run
from jostle.zoo.agents import load_teacher
from jostle.zoo.start import start_training


@dataclass(frozen=True)
class TrainedRun:
    """A run folder after training."""

    path: Path
    """Folder of the run."""
    finished: bool
    """Whether all environment steps are done; if not, train with `resume=run.path`."""

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """One row per iteration."""
        return RunDir(self.path).rows()

    @cached_property
    def agent(self) -> LoadedAgent:
        """The agent with the best weights so far."""
        return load_agent(self.path)


def train(
    task: str = "",
    minutes: float | None = None,
    resume: str | Path | None = None,
    progress: bool = True,
    **options: Any,
) -> TrainedRun:
    """Train an agent, or resume a training; stops after `minutes` and saves.

    Args:
        task: Name of a task, such as three-cubes.
        minutes: Time limit; without one, until all environment steps are done.
        resume: Folder of a run to resume instead; with `env_steps`, to this new total.
        progress: Whether to show a progress bar.
        options: Flags of `jostle train TASK` with underscores: `obs="pixels"`, `method="td3"`,
            `seed=1`, `batch_size=128`, `from_="three-cubes-state"`, `out="runs"`, ...
    """
    check_minutes(minutes)
    report = _Report(minutes, progress)
    if resume is not None:
        env_steps = options.pop("env_steps", None)
        if task or options:
            raise BadValueError(
                "A resumed run keeps its settings: only env_steps and minutes can be given, not "
                f"{', '.join([task, *options]).strip(', ')}."
            )
        trainer: Training = resume_run(
            Path(resume), report, load_teacher=load_teacher, env_steps=env_steps,
            notify=tqdm.write if progress else ignore,
        )  # fmt: skip
    else:
        trainer = start_training(_parse(task, options), report)
    folder, report.axis = trainer.run_dir.path, trainer.axis
    done = min(trainer.counters[trainer.axis], trainer.total)
    with tqdm(total=trainer.total, initial=done, unit="step", disable=not progress) as report.bar:
        try:
            trainer.run()
        except StopRequested:
            return TrainedRun(folder, finished=False)
    return TrainedRun(folder, finished=True)


def _parse(task: str, options: dict[str, Any]) -> Any:
    """Options as words of the command line."""
    words = [task]
    for name, value in options.items():
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag.removeprefix('--')}")
        elif isinstance(value, list | tuple):
            words += [flag, *map(str, value)]
        else:
            words += [flag, str(value)]
    try:
        return parse_words(words)
    except SystemExit:
        raise BadValueError(
            f"Some of these options are unknown or wrong: {' '.join(words[1:])}. "
            f"'jostle train {task} --help' lists them."
        ) from None


class _Report:
    """Moves the bar, and stops the training when its time is over."""

    def __init__(self, minutes: float | None, progress: bool) -> None:
        self._end = None if minutes is None else time.monotonic() + 60 * minutes
        self._progress, self.bar = progress, None  # type: bool, Any
        self.axis = "env_steps"
        """What the bar counts."""

    def __call__(self, row: dict[str, Any]) -> None:
        if self.bar is not None and self.axis in row:
            self.bar.update(min(row[self.axis], self.bar.total) - self.bar.n)
        if self._end is not None and time.monotonic() > self._end:
            raise StopRequested
