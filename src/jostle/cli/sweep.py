"""`jostle sweep STUDY.toml`: one training with several settings and seeds."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.cluster.executors import Executor, LocalExecutor, in_order
from jostle.cluster.jobs import JobResult, stops_on_sigterm
from jostle.cluster.ray_session import check_ray
from jostle.core.checks import check_int, check_output
from jostle.core.errors import require
from jostle.core.files import write_json
from jostle.reports.learning_curves import Rows, plot_learning_curves, write_curve_data
from jostle.reports.sweeps import sweep_table
from jostle.zoo.sweep import Sweep, learning_curves, read_sweep, unfinished


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
    page: Path | None = None
    """Write the page of results to PAGE.md, and its curves to curves/ beside it; by default
    OUT/sweep.md."""
    only_page: bool = False
    """Whether to write the page of what is there, and train nothing."""

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
    if config.page is not None:
        check_output(config.page.with_suffix(".md"))
    if not config.local and not config.only_page:
        check_ray("'sweep'", config.ray)
    jobs, state = sweep.jobs(out), out / "sweep.json"
    stopped: set[str] = set(json.loads(state.read_text())["stopped"] if state.is_file() else ())
    left = [job for job in unfinished(jobs) if job.name not in stopped]
    if config.only_page:
        require(out.is_dir(), f"There are no trials in {out} yet: leave out --only-page.")
        _write_page(sweep, argv, learning_curves(jobs, stopped), config.page or out / "sweep")
        return 0
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
        if out.is_dir():
            write_json(state, {"stopped": sorted(stopped)})
            _write_page(sweep, argv, learning_curves(jobs, stopped), config.page or out / "sweep")
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


def _write_page(
    sweep: Sweep, argv: list[str], curves: Mapping[str, Sequence[Rows]], page: Path
) -> None:
    """Write table, curves and notes, and print where they are."""
    (page.parent / "curves").mkdir(parents=True, exist_ok=True)
    table = sweep_table(curves)
    text = f"# {sweep.title}\n\nMade by `jostle sweep {' '.join(argv)}`.\n\n{table}"
    known = {name: [rows for rows in runs if rows] for name, runs in curves.items()}
    known = {name: runs for name, runs in known.items() if runs}
    if known:
        data = page.parent / "curves" / f"{page.name}.json"
        plot_learning_curves(known, data.with_suffix(".png"), "env-steps", sweep.title)
        write_curve_data(known, data, "env-steps", sweep.title)
        text += f"\n![learning curves](curves/{page.name}.png)\n"
    if sweep.notes:
        text += f"\n{sweep.notes.strip()}\n"
    page.with_suffix(".md").write_text(text)
    print(f"\n{table}\nwritten: {page.with_suffix('.md')}")
