"""`jostle sweep STUDY.toml`: one training with several settings and seeds."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.cluster.executors import Executor, LocalExecutor, in_order
from jostle.cluster.jobs import Job, JobResult, stops_on_sigterm
from jostle.cluster.ray_session import check_ray
from jostle.core.checks import check_int, check_output
from jostle.core.errors import require
from jostle.core.files import write_json
from jostle.zoo.sweep import Sweep, read_sweep, results_table, unfinished


@dataclass(frozen=True, kw_only=True)
class SweepConfig:
    """Train every setting of a study with every seed, one CPU each; run it again to resume.

    Trials are scheduled by Ray Tune. They are ordinary runs, which 'jostle plot', 'jostle evaluate'
    and 'jostle train --resume' know.
    """

    study: Annotated[Path, tyro.conf.Positional]
    """The sweep: train, seeds, settings and, if trials are to be stopped early, asha."""
    out: Path | None = None
    """Folder for the runs; by default runs/NAME-OF-THE-STUDY."""
    jobs: int = 0
    """Trials at a time; 0: one per core of this machine."""
    ray: str = ""
    """Address of a Ray cluster whose machines share the folder; empty: this machine."""
    local: bool = False
    """Whether to run without Ray, in processes of this machine; then nothing is stopped early."""

    def __post_init__(self) -> None:
        """Refuse values that do not go together."""
        check_int("jobs", self.jobs, 0)
        require(not (self.local and self.ray), "--local runs without Ray: leave out --ray.")


def run(argv: list[str]) -> int:
    """Run the trials that are not done; returns 1 if one failed."""
    config = tyro.cli(SweepConfig, prog="jostle sweep", args=argv)
    sweep = read_sweep(config.study)
    out = config.out or Path("runs") / config.study.stem
    check_output(out, folder=True)
    if not config.local:
        check_ray("'sweep'", config.ray)
    jobs, state = sweep.jobs(out), out / "sweep.json"
    stopped: set[str] = set(json.loads(state.read_text())["stopped"] if state.is_file() else ())
    left = [job for job in unfinished(jobs) if job.name not in stopped]
    print(f"{len(jobs)} trials in {out}, {len(left)} to run")
    results: list[JobResult] = []

    def on_end(result: JobResult) -> None:
        results.append(result)
        print(result.describe(), flush=True)

    interrupted = True
    try:
        if left:
            with stops_on_sigterm():
                _executor(config, sweep, out).run(in_order(left), on_end)
        interrupted = False
    finally:
        if sweep.asha is not None and not config.local and not interrupted:
            stopped |= {result.job.name for result in results if result.outcome == "stopped"}
        _write(out, state, stopped, jobs)
    return 1 if any(result.outcome == "failed" for result in results) else 0


def _executor(config: SweepConfig, sweep: Sweep, out: Path) -> Executor:
    slots = config.jobs or os.cpu_count() or 1
    if config.local:
        require(sweep.asha is None, "Stopping trials early (asha) needs Ray: leave out --local.")
        return LocalExecutor(slots)
    from jostle.cluster.tune_executor import Asha, TuneExecutor

    asha = None
    if sweep.asha is not None:
        asha = Asha(sweep.asha.grace, sweep.asha.reduction, sweep.env_steps())
    return TuneExecutor(config.ray, slots, out, asha)


def _write(out: Path, state: Path, stopped: set[str], jobs: list[Job]) -> None:
    """Write which trials were stopped early, and the table of results."""
    if not out.is_dir():
        return
    write_json(state, {"stopped": sorted(stopped)})
    table = results_table(jobs)
    (out / "sweep.md").write_text(f"# Sweep\n\n{table}")
    print(f"\n{table}\nwritten: {out / 'sweep.md'}")
