"""`jostle queue`: work through a queue of trainings in time slices."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from jostle.core.checks import check_int, check_minutes, check_number

if TYPE_CHECKING:  # it needs torch, which help does without
    from jostle.zoo.queue import TrainingQueue


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
    jobs: int = 1
    """Jobs that are trained at a time, with one thread each if there are several."""
    ray: str | None = None
    """Address of a Ray cluster that trains them, whose machines share the folders."""
    only: str = ""
    """Train one slice of the job of this name alone."""
    zoo: Path | None = None
    """Folder in which better weights are registered; your own zoo by default (see 'jostle zoo')."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_minutes(self.minutes)
        check_number("slice", self.slice, above=0)
        check_int("threads", self.threads, 0)
        check_int("episodes", self.episodes, 1)
        check_int("jobs", self.jobs, 1)


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
    if config.jobs > 1 or config.ray is not None:
        return _run_jobs(config, queue, end)
    try:
        if config.only:
            queue.run_slice(queue.find(config.only), config.slice)
            return 0
        while (left := end - time.monotonic()) > 0 and (job := queue.next()) is not None:
            queue.run_slice(job, min(config.slice, left / 60))
    except StopRequested:
        _log("stopped")
        return stopper.exit_code
    _log("all jobs are done" if queue.next() is None else "time is over")
    return 0


def _run_jobs(config: QueueConfig, queue: "TrainingQueue", end: float) -> int:
    """Train several jobs at a time, each slice as a job of an executor; returns 1 if one failed."""
    from jostle.cluster.executors import make_executor
    from jostle.cluster.jobs import Job, JobResult, stops_on_sigterm

    running: set[str] = set()
    failed: set[str] = set()
    runs = config.runs.absolute()
    options = ["--queue", config.queue, "--runs", runs, "--episodes", config.episodes]
    options += ["--threads", config.threads or 1]
    options += [] if config.zoo is None else ["--zoo", config.zoo]
    words = tuple(map(str, options))

    def next_slice() -> Job | None:
        left = (end - time.monotonic()) / 60
        job = queue.next(running) if left > 0 else None
        if job is None:
            return None
        running.add(job.name)
        start = (
            "queue", *words, "--only", job.name, "--slice", str(min(config.slice, left)),
        )  # fmt: skip
        return Job(name=job.name, folder=runs / job.name, start=start)

    def on_end(result: JobResult) -> None:
        if result.outcome == "failed":  # a job that failed is not tried again
            failed.add(result.job.name)
        else:
            running.discard(result.job.name)
        _log(result.describe())

    with stops_on_sigterm():
        make_executor(config.ray, config.jobs).run(next_slice, on_end)
    if failed:
        _log(f"failed: {', '.join(sorted(failed))}")
    else:
        _log("all jobs are done" if queue.next() is None else "time is over")
    return 1 if failed else 0


def _log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
