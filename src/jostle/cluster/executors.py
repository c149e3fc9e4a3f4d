"""Executors of job lists: processes of this machine, or Ray."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from jostle.cluster.jobs import Job, JobProcess, JobResult, run_job
from jostle.cluster.ray_session import check_ray, ray_session, worker_error

NextJob = Callable[[], Job | None]
"""Asked for a job when there is room for one, and again after each end; None: there is none now."""
OnEnd = Callable[[JobResult], None]
"""Called with each job that has ended, before the next is asked for."""


class Executor(Protocol):
    """Runs jobs, several at a time."""

    def run(self, next_job: NextJob, on_end: OnEnd) -> None:
        """Run all jobs to their ends; when this is interrupted, jobs are stopped and saved."""
        ...


def in_order(jobs: Iterable[Job]) -> NextJob:
    """Ask for the jobs of a list, one after the other."""
    left = iter(jobs)
    return lambda: next(left, None)


class LocalExecutor:
    """Processes of this machine."""

    def __init__(self, slots: int, poll_seconds: float = 0.2) -> None:
        """Run `slots` jobs at a time."""
        self._slots, self._poll_seconds = slots, poll_seconds

    def run(self, next_job: NextJob, on_end: OnEnd) -> None:
        """Run all jobs to their ends."""
        running: list[JobProcess] = []
        try:
            while True:
                while len(running) < self._slots and (job := next_job()) is not None:
                    running.append(JobProcess(job))
                if not running:
                    return
                time.sleep(self._poll_seconds)
                for process in list(running):
                    if (result := process.result()) is not None:
                        running.remove(process)
                        on_end(result)
        finally:
            for process in running:
                process.request_stop()
            for process in running:
                on_end(process.stop())


class RayExecutor:
    """Tasks of a Ray cluster with one CPU each; all machines share the folders of the jobs."""

    def __init__(self, address: str, slots: int) -> None:
        """Use the cluster at an address; empty: start one here with `slots` CPUs."""
        check_ray("Running jobs through Ray", address)
        self._address, self._slots = address, slots

    def run(self, next_job: NextJob, on_end: OnEnd) -> None:
        """Run all jobs to their ends."""
        with ray_session(self._address, self._slots, "Running jobs through Ray") as ray:
            remote = ray.remote(num_cpus=1, max_retries=3)(run_job)
            slots = int(ray.cluster_resources().get("CPU", 1)) if self._address else self._slots
            pending: dict[Any, Job] = {}
            try:
                while True:
                    while len(pending) < slots and (job := next_job()) is not None:
                        pending[remote.remote(job)] = job
                    if not pending:
                        return
                    ready, _ = ray.wait(list(pending), num_returns=1, timeout=1.0)
                    for task in ready:
                        on_end(_result(ray, task, pending.pop(task)))
            finally:
                for task in pending:
                    ray.cancel(task)
                for task, job in pending.items():
                    on_end(_result(ray, task, job))


def make_executor(address: str | None, slots: int) -> Executor:
    """Processes of this machine, or Ray if an address is given (empty: Ray on this machine)."""
    return LocalExecutor(slots) if address is None else RayExecutor(address, slots)


def _result(ray: Any, task: Any, job: Job) -> JobResult:
    """How a task ended."""
    try:
        result: JobResult = ray.get(task)
    except ray.exceptions.TaskCancelledError:
        return JobResult(job, "stopped")
    except ray.exceptions.RayError as error:
        if "KeyboardInterrupt" in str(error):
            return JobResult(job, "stopped")
        raise worker_error(error) from error
    return result
