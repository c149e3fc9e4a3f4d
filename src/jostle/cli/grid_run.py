"""Evaluations of a grid: one after the other, or several at a time as jobs of an executor."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.cli.bars import print_progress
from jostle.cli.eval_jobs import EvalJob
from jostle.cli.scored_rows import Cache, evaluated_row
from jostle.cluster.executors import Executor
from jostle.cluster.jobs import Job, JobResult, stops_on_sigterm
from jostle.core.errors import JostleError
from jostle.evaluation.scores import cache_key, read_scores, write_scores
from jostle.reports.tables import task_title


@dataclass(frozen=True)
class GridPlan:
    """Evaluations of a grid."""

    jobs: list[EvalJob]
    rows: dict[int, dict[str, Any]]
    """Results by the number of their job."""
    impossible: dict[int, str]
    """Jobs that cannot be, with the reason."""
    end: float | None
    """When to stop, by the monotonic clock."""

    @property
    def missing(self) -> list[int]:
        """Jobs that are neither known nor impossible."""
        known = self.rows.keys() | self.impossible.keys()
        return [index for index in range(len(self.jobs)) if index not in known]

    @property
    def time_is_over(self) -> bool:
        """Whether no further evaluation may start."""
        return self.end is not None and time.monotonic() > self.end


def evaluate_cell(job: EvalJob) -> dict[str, Any]:
    """The row of one cell, with the seed of its first failed episode."""
    row, evaluation = evaluated_row(job, job.agent)
    failed = [episode.number for episode in evaluation.episodes if episode.success < 0.5]
    row["first_failure"] = job.seed + failed[0] if failed else None
    return row


def evaluate_missing(plan: GridPlan, stored: Cache, file: Path) -> None:
    """Evaluate what is missing, cell after cell, until the time is over."""
    progress = _Progress(plan, stored, file)
    for index in plan.missing:
        if plan.time_is_over:
            break
        progress.add(index, evaluate_cell(plan.jobs[index]))
    progress.say_if_over()


def evaluate_missing_at_once(
    plan: GridPlan, stored: Cache, file: Path, words: Sequence[str], executor: Executor
) -> None:
    """Evaluate what is missing, each cell as a `jostle generalize --only` of its own.

    Args:
        plan: Which cells are missing.
        stored: Rows that were stored before; new ones are added.
        file: File of the rows, written after each cell.
        words: Words behind `jostle generalize` that say which grid it is.
        executor: Runs the cells.
    """
    progress, folder = _Progress(plan, stored, file), cells_folder(file)
    left, running, failed = iter(plan.missing), dict[str, int](), list[JobResult]()

    def next_cell() -> Job | None:
        index = None if plan.time_is_over else next(left, None)
        if index is None:
            return None
        own = folder / f"{index:03d}"
        episodes = str(plan.jobs[index].episodes)
        start = (
            "generalize", *words, "--episodes", episodes, "--only", str(index), "--out", str(own),
        )  # fmt: skip
        running[own.name] = index
        return Job(name=own.name, folder=own, start=start)

    def on_end(result: JobResult) -> None:
        index = running.pop(result.job.name)
        row = next(iter(read_scores(result.job.folder.with_suffix(".json")).values()), None)
        if result.outcome == "finished" and row is not None:
            progress.add(index, row)
        elif result.outcome == "failed":
            failed.append(result)

    with stops_on_sigterm():
        executor.run(next_cell, on_end)
    if failed:
        raise JostleError(
            f"{len(failed)} of the cells failed; the others are stored. Cell {failed[0].describe()}"
        )
    shutil.rmtree(folder, ignore_errors=True)
    progress.say_if_over()


def cells_folder(file: Path) -> Path:
    """Folder for the rows and the output of cells that are evaluated at once."""
    return file.with_suffix(".cells").absolute()


def leftover_rows(file: Path) -> Cache:
    """Rows of cells that had ended when their command was killed."""
    rows: Cache = {}
    for path in sorted(cells_folder(file).glob("*.json")):
        rows |= read_scores(path)
    return rows


class _Progress:
    """Stores rows as they are made, and says how long the rest will take."""

    def __init__(self, plan: GridPlan, stored: Cache, file: Path) -> None:
        self._plan, self._stored, self._file = plan, stored, file
        self._started, self._total, self._done = time.monotonic(), len(plan.missing), 0

    def add(self, index: int, row: dict[str, Any]) -> None:
        """Store the row of a cell."""
        self._plan.rows[index] = self._stored[cache_key(row)] = row
        write_scores(self._file, self._in_order())
        self._done += 1
        spent = (time.monotonic() - self._started) / 60
        print_progress(
            f"{self._done} of {self._total}: {task_title(row)}, {row['objects']} objects: "
            f"{row['success']:.3f}; {spent:.1f} min, about "
            f"{spent / self._done * (self._total - self._done):.1f} min left"
        )

    def say_if_over(self) -> None:
        """Say so if cells are left because the time is over."""
        if self._plan.missing:
            print_progress("the time is over: the same command goes on from here")

    def _in_order(self) -> list[dict[str, Any]]:
        """Rows that are stored: those of other grids, then this one's in the order of its cells."""
        own = [cache_key(row) for _, row in sorted(self._plan.rows.items())]
        others = [row for key, row in self._stored.items() if key not in set(own)]
        return [*others, *(self._stored[key] for key in own if key in self._stored)]
