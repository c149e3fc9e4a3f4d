"""`jostle demo`: the oracle solves 3-Cubes on film, and every task poses for a picture."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from jostle.cli.docs import suite_sheet
from jostle.cli.film import FilmConfig, make_film
from jostle.reports.films import save_picture


@dataclass(frozen=True, kw_only=True)
class DemoConfig:
    """Film the oracle on 3-Cubes from two views, and photograph every task."""

    out: Path = Path("demo")
    """Folder for the results."""
    seed: int = 0
    """Which episode."""


def run(argv: list[str]) -> None:
    """Run the demo and say where the results are."""
    config = tyro.cli(DemoConfig, prog="jostle demo", args=argv)
    film, contact, footage = make_film(
        FilmConfig(task="ThreeCubes", seed=config.seed, out=config.out)
    )
    tasks = save_picture(suite_sheet(), config.out / "tasks.png")
    millimeters = np.round(1000 * footage.distances[-1]).astype(int).tolist()
    ending = "every cube is home" if footage.success else "not every cube is home"
    print(f"\nThe oracle on 3-Cubes: {ending} (distances {millimeters} mm).")
    print(f"film:          {film}\ncontact sheet: {contact}\nall tasks:     {tasks}")
