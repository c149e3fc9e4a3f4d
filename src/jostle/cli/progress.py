"""What `train` and `pretrain` share: progress, time limit, Ctrl-C, closing lines, exit codes."""

import signal
import time
from collections.abc import Mapping
from types import FrameType
from typing import Any

from jostle.cli.bars import print_progress, progress_bar
from jostle.core.profiler import time_summary
from jostle.runs.trainer import StopRequested, Training


class SignalStopper:
    """Handles Ctrl-C and SIGTERM: the first requests a stop, the second interrupts at once."""

    def __init__(self) -> None:
        """Install the handlers, also in a process that was started in the background."""
        self._signal: int | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    @property
    def exit_code(self) -> int:
        """0, or what shells report after a signal: 130 after Ctrl-C, 143 after SIGTERM."""
        return 0 if self._signal is None else 128 + self._signal

    def check(self) -> None:
        """Raise `StopRequested` if a stop was requested; to be called between iterations."""
        if self._signal is not None:
            raise StopRequested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._signal is not None:
            raise KeyboardInterrupt
        self._signal = number
        print(
            "\nstopping after this iteration (repeat to stop at once, back to the last checkpoint)",
            flush=True,
        )


class ProgressBar:
    """Shows the metrics of a training, and stops it on request or when its time is over."""

    def __init__(
        self, minutes: float | None, metrics: tuple[str, ...], names: Mapping[str, str]
    ) -> None:
        """Stop after so many minutes.

        Args:
            minutes: Time limit; None for none.
            metrics: Metrics of which only evaluations have one; each gets a line of its own.
            names: Metrics to show, with their short names.
        """
        self._minutes, self._end, self._metrics, self._names = minutes, 0.0, metrics, names
        self._stopper = SignalStopper()
        self._shown: dict[str, str] = {}
        self._trainer: Training | None = None
        self._bar: Any = None

    def __call__(self, row: dict[str, Any]) -> None:
        """Show the metrics of an iteration, or a warning."""
        assert self._trainer is not None
        if "warning" in row:
            counter = self._trainer.counter
            print_progress(f"{counter} {row[counter]}: {row['warning']}")
            return

        # Line and bar
        values = self._values(row)
        if any(metric in row for metric in self._metrics):
            print_progress(self._line(row, values))
        self._shown |= values
        if "best" not in values:
            self._shown.pop("best", None)
        self._bar.set_postfix(self._shown, refresh=False)
        self._bar.update(self._done() - self._bar.n)

        # End
        if self._minutes is not None and time.monotonic() > self._end:
            raise StopRequested
        self._stopper.check()

    def train(self, trainer: Training, command: str) -> int:
        """Train, print where the time went and how to resume, and return the exit code."""
        self._trainer, self._end = trainer, time.monotonic() + 60 * (self._minutes or 0.0)
        finished = True
        with progress_bar(trainer.total, "step", done=self._done()) as self._bar:
            try:
                trainer.run()
            except StopRequested:
                finished = False
        if times := time_summary(trainer.run_dir.rows()):
            print(f"time: {times}")
        folder, values = trainer.run_dir.path, self._values(trainer.counters)
        if finished:
            best = f" (best during training: {values['best']})" if "best" in values else ""
            print(f"done: {folder}{best}")
            return 0
        print(f"stopped and saved; resume with: jostle {command} --resume {folder}")
        return self._stopper.exit_code

    def _done(self) -> int:
        """Position of the bar; the last iteration may exceed the total."""
        assert self._trainer is not None
        return min(int(self._trainer.counters[self._trainer.axis]), self._trainer.total)

    def _values(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Metrics to show by their short names; before an evaluation there is no best one."""
        names = {"best": "best", **self._names}
        return {
            short: f"{row[key]:.4g}"
            for key, short in names.items()
            if key in row and (key != "best" or row[key] != -1.0)
        }

    def _line(self, row: Mapping[str, Any], values: Mapping[str, str]) -> str:
        """One line about an evaluation."""
        assert self._trainer is not None
        axis, total = self._trainer.axis, self._trainer.total
        done = f"{axis.replace('_', ' ')} {row[axis]}/{total} ({100 * self._done() / total:.0f} %)"
        metrics = ", ".join(f"{name} {value}" for name, value in values.items())
        return f"{done}, {row['seconds'] / 60:.1f} min: {metrics}"
