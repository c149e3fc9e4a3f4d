"""`jostle plot RUN ...`: learning curves of one or several runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.core.errors import require
from jostle.reports.learning_curves import plot_learning_curves, read_learning_curve
from jostle.runs.run_dir import RunDir


@dataclass(frozen=True, kw_only=True)
class PlotConfig:
    """Plot success, or the validation loss of encoders, over updates and over minutes."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run directories."""
    names: tuple[str, ...] = ()
    """Labels in the legend, in the same order; the names of the directories by default."""
    out: Path = Path("curves.png")
    """File of the plot."""


def run(argv: list[str]) -> None:
    """Plot and print where the file is."""
    config = tyro.cli(PlotConfig, prog="jostle plot", args=argv)
    require(len(config.runs) > 0, "Name at least one run directory.")
    names = config.names or _names(config.runs)
    require(
        len(set(names)) == len(config.runs) == len(names),
        f"Each run needs a different name: {len(config.runs)} runs, names {names}.",
    )
    curves = {
        name: read_learning_curve(RunDir(path).metrics)
        for name, path in zip(names, config.runs, strict=True)
    }
    print(f"plot: {plot_learning_curves(curves, config.out)}")


def _names(runs: tuple[Path, ...]) -> tuple[str, ...]:
    """Names of the directories, with as many parents as are needed to make them different."""
    parts = [path.resolve().parts for path in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        names = tuple("/".join(part[-depth:]) for part in parts)
        if len(set(names)) == len(names):
            break
    return names
