"""`jostle curves RUN ...`: learning curves of one or several runs as a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.core.rundir import RunDir
from jostle.reports.curves import draw_curves, read_curve


@dataclass(frozen=True, kw_only=True)
class CurvesConfig:
    """Draw success over updates and over minutes."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs."""
    out: Path = Path("curves.png")
    """Where the picture goes."""


def run(argv: list[str]) -> None:
    """Draw and say where."""
    config = tyro.cli(CurvesConfig, prog="jostle curves", args=argv)
    names = [path.resolve().name for path in config.runs]
    unique = names if len(set(names)) == len(names) else [str(path) for path in config.runs]
    curves = {
        name: read_curve(RunDir(path).metrics)
        for name, path in zip(unique, config.runs, strict=True)
    }
    print(f"curves: {draw_curves(curves, config.out)}")
