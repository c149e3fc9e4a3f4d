"""The outer loop of every training: iterate, evaluate, log, save, report."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from torch import Tensor

from jostle.core.checkpoint import load, save
from jostle.core.profiler import PROFILER, TIME_PREFIX
from jostle.core.protocols import Stateful
from jostle.runs.metrics_log import MetricsLogger
from jostle.runs.run_dir import RunDir

Report = Callable[[dict[str, Any]], None]
"""Called with the metrics of every iteration; may raise `StopRequested`."""


class StopRequested(Exception):  # noqa: N818  it is no error
    """Asks a training to stop between two iterations; everything is saved first."""


@dataclass(frozen=True)
class Schedule:
    """Iterations between two events of each kind; all happen at the end, too."""

    log_every: int
    eval_every: int
    save_every: int


class Training(Protocol):
    """What callers of a training need: a `Trainer`, or several of them as stages."""

    counter: ClassVar[str]
    axis: ClassVar[str]
    run_dir: RunDir

    @property
    def counters(self) -> dict[str, Any]:
        """Counters so far, among them the axis."""
        ...

    @property
    def total(self) -> int:
        """The budget, in units of the axis."""
        ...

    def run(self) -> None:
        """Train until the budget is spent or a stop is requested; then all is saved."""
        ...


class Trainer(ABC):
    """Iterations until the budget is spent; resumes bit-for-bit from its last checkpoint."""

    counter: ClassVar[str] = "iteration"
    """Which counter counts iterations."""
    axis: ClassVar[str] = "env_steps"
    """Which counter is the x axis of learning curves."""

    def __init__(
        self, run: RunDir, schedule: Schedule, report: Report, wandb: bool = False
    ) -> None:
        """Write to `run`, and call `report` after every iteration."""
        self.run_dir, self._schedule, self._report = run, schedule, report
        self._logger = MetricsLogger(run, self.axis, wandb)
        self.counters: dict[str, Any] = {self.counter: 0, "seconds": 0.0}

    @abstractmethod
    def iterate(self) -> None:
        """Learn for one iteration."""

    @abstractmethod
    def metrics(self) -> dict[str, Any]:
        """Metrics since they were last asked for."""

    @abstractmethod
    def evaluate(self) -> dict[str, Any]:
        """Evaluate the present weights, and keep them if they are the best so far."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the budget is spent."""

    @property
    @abstractmethod
    def total(self) -> int:
        """The budget, in units of the axis."""

    @abstractmethod
    def parts(self) -> dict[str, Stateful]:
        """Everything with a state, by name."""

    def describe(self) -> dict[str, Any]:
        """JSON that goes into every checkpoint."""
        return {}

    def warnings(self, row: dict[str, Any]) -> list[str]:
        """Sentences about metrics that look wrong."""
        del row
        return []

    def run(self) -> None:
        """Train until the budget is spent or a stop is requested; then all is saved."""
        with self.run_dir.lock():
            self.run_dir.trim(self.counters[self.counter], self.counter)
            PROFILER.take()
            try:
                while not self.done:
                    self._iteration()
            except StopRequested:
                self.save()
                raise
            finally:
                self.close()

    def close(self) -> None:
        """Close what the run has opened."""
        self._logger.close()

    def save(self) -> None:
        """Write a checkpoint (between two iterations)."""
        tensors: dict[str, Tensor] = {}
        states: dict[str, Any] = {}
        for name, part in self.parts().items():
            own, states[name] = part.state_dict()
            tensors |= {f"{name}.{key}": tensor for key, tensor in own.items()}
        meta = {**self.describe(), "parts": states, "counters": self.counters}
        save(self.run_dir.last, tensors, meta)

    def resume(self) -> None:
        """Restore the last checkpoint."""
        tensors, meta = load(self.run_dir.last)
        self.check_checkpoint(meta)
        for name, part in self.parts().items():
            prefix = f"{name}."
            own = {
                key.removeprefix(prefix): tensor
                for key, tensor in tensors.items()
                if key.startswith(prefix)
            }
            part.load_state_dict(own, meta["parts"][name])
        self.counters = meta["counters"]

    def check_checkpoint(self, meta: dict[str, Any]) -> None:
        """Refuse a checkpoint that does not belong to this run."""
        del meta

    def _iteration(self) -> None:
        """One iteration and what is due after it."""
        # Learn
        start = time.monotonic()
        with PROFILER("other"):
            self.iterate()
        self.counters["seconds"] += time.monotonic() - start
        number, done = self.counters[self.counter], self.done

        # Metrics and evaluation
        row: dict[str, Any] = {}
        warnings: list[str] = []
        if number % self._schedule.log_every == 0 or done:
            times = {f"{TIME_PREFIX}{part}": spent for part, spent in PROFILER.take().items()}
            row = {**self.metrics(), **times}
            warnings = self.warnings({self.counter: number, **row})
        logged = {**row, **self.counters}
        if number % self._schedule.eval_every == 0 or done:
            row = logged = logged | self.evaluate()
            PROFILER.take()
            done = self.done  # an evaluation may end the training

        # Log and save before anything is reported: a report may stop the training
        messages = [{self.counter: number, "warning": text} for text in warnings]
        for message in messages:
            self.run_dir.log(message)
        if row:
            self._logger.log(logged)
        if number % self._schedule.save_every == 0 or done:
            self.save()
        for message in (*messages, logged):
            self._report(message)
