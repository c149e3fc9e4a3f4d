"""`jostle curves RUN ...`: learning curves of one or several runs as a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.core.errors import require
from jostle.core.rundir import RunDir
from jostle.reports.curves import draw_curves, read_curve


@dataclass(frozen=True, kw_only=True)
class CurvesConfig:
    """Draw success, or the validation loss of encoders, over updates and over minutes."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs."""
    names: tuple[str, ...] = ()
    """What to call them in the legend, in the same order; by default as their folders."""
    out: Path = Path("curves.png")
    """Where the picture goes."""


def run(argv: list[str]) -> None:
    """Draw and say where."""
    config = tyro.cli(CurvesConfig, prog="jostle curves", args=argv)
    require(len(config.runs) > 0, "Name at least one folder of a run.")
    names = config.names or _names(config.runs)
    require(
        len(set(names)) == len(config.runs) == len(names),
        f"Each run needs a name of its own: {len(config.runs)} runs, names {names}.",
    )
    curves = {
        name: read_curve(RunDir(path).metrics)
        for name, path in zip(names, config.runs, strict=True)
    }
    print(f"curves: {draw_curves(curves, config.out)}")


def _names(runs: tuple[Path, ...]) -> tuple[str, ...]:
    """Names of the folders, with as many of their parents as it takes to tell them apart."""
    parts = [path.resolve().parts for path in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        names = tuple("/".join(part[-depth:]) for part in parts)
        if len(set(names)) == len(names):
            break
    return names
