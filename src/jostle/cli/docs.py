"""`jostle docs`: draws every picture of the documentation that can be made from the repository."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tyro

from jostle.cli.bars import progress_bar
from jostle.cli.docs_figures import concept_figures
from jostle.cli.docs_pictures import (
    FILMS,
    TASK_PICTURES,
    draw_film,
    draw_hero,
    draw_task,
    draw_tasks,
)
from jostle.core.checks import check_int, check_output
from jostle.core.errors import require
from jostle.core.extras import require_packages
from jostle.evaluation.scores import read_scores
from jostle.reports.architecture import draw_architecture
from jostle.reports.learning_curves import redraw_learning_curves
from jostle.reports.scaling import plot_scaling
from jostle.reports.video import check_packages
from jostle.reports.yaw_errors import plot_yaw_errors

Draw = Callable[[Path], object]
_STUDY_PLOTS: dict[str, Callable[[Sequence[Mapping[str, Any]], Path], object]] = {
    "by-cubes": plot_scaling,
    "yaw-errors": plot_yaw_errors,
}
"""Plots of a study by the end of their file names."""


@dataclass(frozen=True, kw_only=True)
class DocsConfig:
    """Draw the pictures of the documentation.

    Learning curves are among them if `jostle plot --data` stored their values; others need the
    directories of their runs.
    """

    out: Path = Path("docs")
    """The documentation folder: pictures go to its 'pictures', and plots of the results in its
    'results' to 'results/curves'."""
    seed: int = 0
    """Seed of the episode shown of each task."""
    only: tuple[str, ...] = ()
    """Draw only pictures whose file name contains one of these texts, such as tasks or .gif."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("seed", self.seed, 0)


def run(argv: list[str]) -> None:
    """Draw the pictures and print where they are."""
    config = tyro.cli(DocsConfig, prog="jostle docs", args=argv)
    check_packages(video=False)
    require_packages("Drawing the pictures of the documentation", "matplotlib", "torch")
    check_output(config.out / "pictures", folder=True)
    pictures = all_pictures(config.out, config.seed)
    chosen = {
        path: draw
        for path, draw in pictures.items()
        if not config.only or any(text in path.name for text in config.only)
    }
    names = ", ".join(path.name for path in pictures)
    require(len(chosen) > 0, f"No picture is called {' or '.join(config.only)}: {names}.")
    with progress_bar(len(chosen), "picture", "drawing") as bar:
        for path, draw in chosen.items():
            draw(path)
            bar.update()
    print("\n".join(str(path) for path in chosen))


def all_pictures(folder: Path, seed: int = 0) -> dict[Path, Draw]:
    """Every picture by its path, with what draws it."""
    pictures, draws = folder / "pictures", dict[Path, Draw]()
    draws[pictures / "architecture.png"] = draw_architecture
    draws[pictures / "hero.png"] = lambda path: draw_hero(path, seed)
    draws[pictures / "tasks.png"] = lambda path: draw_tasks(path, seed)
    for name in TASK_PICTURES:
        draws[pictures / f"{name}.png"] = lambda path: draw_task(path, path.stem, seed)
    for name in FILMS:
        draws[pictures / f"{name}.gif"] = draw_film
    draws |= concept_figures(pictures / "concepts", seed)
    return draws | _result_plots(folder / "results")


def _result_plots(results: Path) -> dict[Path, Draw]:
    """Plots of results that are stored: those of studies that a page shows, and learning curves."""
    draws, curves = dict[Path, Draw](), results / "curves"
    for page in sorted(results.glob("*.md")):
        text = page.read_text()
        for name, plot in _STUDY_PLOTS.items():
            image = curves / f"{page.stem}-{name}.png"
            if f"curves/{image.name}" in text:
                draws[image] = partial(plot, _study_rows(page.with_suffix(".json"), text))
    for data in sorted(curves.glob("*.json")):
        draws[data.with_suffix(".png")] = partial(redraw_learning_curves, data)
    return draws


def _study_rows(path: Path, page: str) -> list[dict[str, Any]]:
    """Stored results of the agents that a page of `jostle benchmark` describes below its table."""
    return [
        row
        for row in read_scores(path).values()
        if not row.get("vary") and f"`{row['agent']}` with " in page
    ]
