"""Jobs: `jostle` commands that can be stopped, resumed and run anywhere."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal

Outcome = Literal["finished", "stopped", "failed"]
_THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Environment of a job, which has one core."""
_GRACE_SECONDS = 120.0
"""How long a job may take to save when it is stopped, before it is killed."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command of `jostle` that works on one folder."""

    name: str
    """What to call it."""
    folder: Path
    """Where it writes; its output goes to a file beside."""
    start: tuple[str, ...]
    """Words behind `jostle` that start it."""
    resume: tuple[str, ...] = ()
    """Words that resume it; none: it is started again."""
    marker: str = "experiment.json"
    """File of the folder that is there once it has been started."""
    cwd: Path = field(default_factory=Path.cwd)
    """Where its command runs: its words may name files from there."""

    @property
    def log(self) -> Path:
        """File for its output."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def command(self) -> list[str]:
        """The command to run now."""
        started = bool(self.resume) and (self.folder / self.marker).is_file()
        return [sys.executable, "-m", "jostle", *(self.resume if started else self.start)]


@dataclass(frozen=True)
class JobResult:
    """How a job ended."""

    job: Job
    outcome: Outcome

    def describe(self) -> str:
        """One sentence, with what a failed job said last."""
        text = f"{self.job.name}: {self.outcome}"
        if self.outcome != "failed":
            return text
        said = self.job.log.read_text().strip() if self.job.log.is_file() else ""
        return f"{text} ({said.splitlines()[-1] if said else 'without a word'}; {self.job.log})"


class JobProcess:
    """A job in a process of its own."""

    def __init__(self, job: Job) -> None:
        """Start it; Ctrl-C of the terminal does not reach it, `stop` does."""
        self.job = job
        job.log.parent.mkdir(parents=True, exist_ok=True)
        with job.log.open("a") as log:
            self._process = subprocess.Popen(
                job.command(), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env=_THREADS | os.environ, start_new_session=True, cwd=job.cwd,
            )  # fmt: skip

    def result(self) -> JobResult | None:
        """How it ended; None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        stopped = code in (128 + signal.SIGINT, 128 + signal.SIGTERM)
        return JobResult(self.job, "finished" if code == 0 else "stopped" if stopped else "failed")

    def stop(self) -> JobResult:
        """Ask it to save and end; kill it if it does not."""
        self.request_stop()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        result = self.result()
        assert result is not None
        return result

    def request_stop(self) -> None:
        """Ask it to save and end, without waiting for it."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)


@contextmanager
def stops_on_sigterm() -> Iterator[None]:
    """Let SIGTERM interrupt this process as Ctrl-C does, so that its jobs are stopped first."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_job(job: Job, poll_seconds: float = 0.2) -> JobResult:
    """Run one job to its end; if this process is interrupted, the job is stopped first."""
    process = JobProcess(job)
    try:
        while (result := process.result()) is None:
            time.sleep(poll_seconds)
    finally:
        process.stop()
    return result
