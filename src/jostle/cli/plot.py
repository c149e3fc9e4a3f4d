"""`jostle plot RUN ...`: learning curves of one or several runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.core.checks import check_output
from jostle.core.errors import require
from jostle.reports.learning_curves import (
    XAxis,
    check_format,
    plot_learning_curves,
    read_learning_curve,
    write_curve_data,
)
from jostle.reports.seed_groups import group_by_experiment, unique_names
from jostle.runs.run_dir import RunDir


@dataclass(frozen=True, kw_only=True)
class PlotConfig:
    """Plot success rates of agents, or validation losses of encoders, over training.

    Runs that differ in their seed alone become one line with a band: the mean, and from 5 seeds on
    its 95 % interval (Student's t), otherwise the range from the least to the largest value.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run directories. Those without an evaluation are skipped."""
    x: XAxis = "env-steps"
    """The x axis: environment steps (gradient steps of encoders), updates or minutes."""
    per_seed: bool = False
    """One line per run instead of one per experiment."""
    names: tuple[str, ...] = ()
    """Labels of the lines, in the same order; names of experiments or directories by default."""
    title: str = ""
    """Title of the figure."""
    out: Path = Path("curves.png")
    """File of the plot; its suffix is the format: .png, .svg, .pdf, ..."""
    data: bool = False
    """Also write the plotted values as .json beside the plot, to redraw it without the runs."""


def run(argv: list[str]) -> None:
    """Plot and print where the file is."""
    config = tyro.cli(PlotConfig, prog="jostle plot", args=argv)
    require(len(config.runs) > 0, "Name at least one run directory.")
    check_format(config.out)
    check_output(config.out)

    # Runs with evaluations
    runs = [RunDir(path) for path in config.runs]
    rows = {run.path: read_learning_curve(run) for run in runs}
    for path, evaluated in rows.items():
        if not evaluated:
            print(f"skipped: {path} has no evaluation yet")
    runs = [run for run in runs if rows[run.path]]
    require(len(runs) > 0, "None of these runs has an evaluation yet: train a little longer.")

    # Lines
    if config.per_seed:
        folders = unique_names([run.path for run in runs])
        groups = {name: [run] for name, run in zip(folders, runs, strict=True)}
    else:
        groups = group_by_experiment(runs)
    names = config.names or tuple(groups)
    require(
        len(set(names)) == len(groups) == len(names),
        f"Each line needs a name of its own: {len(groups)} lines, names {', '.join(names)}.",
    )
    curves = {
        name: [rows[run.path] for run in group]
        for name, group in zip(names, groups.values(), strict=True)
    }
    print(f"plot: {plot_learning_curves(curves, config.out, config.x, config.title)}")
    if config.data:
        data = config.out.with_suffix(".json")
        write_curve_data(curves, data, config.x, config.title)
        print(f"data: {data}")
