"""What `train` and `pretrain` share: progress bar, time limit, Ctrl-C, closing lines."""

import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

from tqdm import tqdm

from jostle.core.profiler import time_summary
from jostle.runs.trainer import StopRequested, Trainer


class SignalStopper:
    """Handles Ctrl-C and SIGTERM: the first requests a stop, the second interrupts at once."""

    def __init__(self) -> None:
        """Install the handlers, also in a process that was started in the background."""
        self.requested = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def check(self) -> None:
        """Raise `StopRequested` if a stop was requested; to be called between iterations."""
        if self.requested:
            raise StopRequested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        print(
            "\nstopping after this iteration (repeat to stop at once, back to the last checkpoint)"
        )


class ProgressBar:
    """Shows the metrics of a training, and stops it on request or when its time is over."""

    def __init__(self, minutes: float | None, shown: dict[str, str]) -> None:
        """Show metrics by these short names; stop after so many minutes."""
        self._minutes, self._end, self._names = minutes, 0.0, shown
        self._stopper = SignalStopper()
        self._shown: dict[str, str] = {}
        self._axis, self._bar = "", None  # type: str, Any

    def __call__(self, row: dict[str, Any]) -> None:
        """Show the metrics of an iteration, or a warning."""
        assert self._bar is not None
        if "warning" in row:
            self._bar.write(f"step {row['step']}: {row['warning']}")
            return
        names = self._names
        self._shown |= {short: f"{row[key]:.4g}" for key, short in names.items() if key in row}
        self._bar.set_postfix(self._shown, refresh=False)
        self._bar.update(row[self._axis] - self._bar.n)
        if self._minutes is not None and time.monotonic() > self._end:
            raise StopRequested
        self._stopper.check()

    def train(self, trainer: Trainer) -> bool:
        """Train; False when stopped before the end (everything is saved then)."""
        self._end = time.monotonic() + 60 * (self._minutes or 0.0)
        self._axis = trainer.axis
        done = trainer.counters[trainer.axis]
        with tqdm(total=trainer.total, initial=done, unit="step") as self._bar:
            try:
                trainer.run()
            except StopRequested:
                return False
        return True


def train_with_bar(bar: ProgressBar, trainer: Trainer, folder: Path, command: str) -> None:
    """Train, and print where the time went and how to resume."""
    finished = bar.train(trainer)
    if times := time_summary(trainer.run_dir.rows()):
        print(f"time: {times}")
    if finished:
        print(f"done: {folder} (best during training: {trainer.counters['best']:.4g})")
    else:
        print(f"\nstopped and saved; resume with: jostle {command} --resume {folder}")
