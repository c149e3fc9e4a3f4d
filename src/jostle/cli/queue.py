"""`jostle queue`: work through a queue of trainings in time slices."""

import time
from dataclasses import dataclass
from pathlib import Path

import tyro

from jostle.core.checks import check_int, check_minutes, check_number


@dataclass(frozen=True, kw_only=True)
class QueueConfig:
    """Train the first unfinished job for a while, evaluate it, register better weights, repeat."""

    queue: Path = Path("studies/queue.toml")
    """The jobs, in order of priority."""
    runs: Path = Path("runs/queue")
    """Folder for the runs; a file PAUSE in it pauses the queue between iterations."""
    minutes: float | None = None
    """Stop after this many minutes; by default when all jobs are done."""
    slice: float = 20.0
    """Minutes of one time slice."""
    threads: int = 0
    """Threads of new runs; 0 means one per core. Two queues with one thread each, in separate
    folders, are faster than one queue with two threads."""
    episodes: int = 400
    """Fixed episodes on which new and registered weights are compared."""
    zoo: Path | None = None
    """Folder in which better weights are registered; your own zoo by default (see 'jostle zoo')."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_minutes(self.minutes)
        check_number("slice", self.slice, above=0)
        check_int("threads", self.threads, 0)
        check_int("episodes", self.episodes, 1)


def run(argv: list[str]) -> int:
    """Run jobs until all are done, the time is over or a signal stops the queue."""
    config = tyro.cli(QueueConfig, prog="jostle queue", args=argv)

    from jostle.cli.progress import SignalStopper  # all of them need torch, help does not
    from jostle.runs.trainer import StopRequested
    from jostle.zoo.queue import TrainingQueue, read_queue

    stopper = SignalStopper()
    queue = TrainingQueue(
        read_queue(config.queue),
        config.runs,
        log=_log,
        on_iteration=stopper.check,
        episodes=config.episodes,
        threads=config.threads,
        zoo=config.zoo,
    )
    end = time.monotonic() + 60 * config.minutes if config.minutes is not None else float("inf")
    try:
        while (left := end - time.monotonic()) > 0 and (job := queue.next()) is not None:
            queue.run_slice(job, min(config.slice, left / 60))
    except StopRequested:
        _log("stopped")
        return stopper.exit_code
    _log("all jobs are done" if queue.next() is None else "time is over")
    return 0


def _log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
