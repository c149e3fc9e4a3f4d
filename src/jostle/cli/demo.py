"""`jostle demo`: a trained agent solves 3-Cubes on film and is scored; every task poses."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tyro

from jostle.cli.docs import suite_sheet
from jostle.cli.examining import Sitting, examine_with_bar
from jostle.cli.film import FilmConfig, make_film
from jostle.reports.films import save_picture
from jostle.reports.tables import markdown
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import what_it_reads


@dataclass(frozen=True, kw_only=True)
class DemoConfig:
    """Film and score an agent on 3-Cubes, and photograph every task."""

    agent: str = "adjacent-goals-pixels"
    """Who acts: a name of the zoo (needs the extra 'train'), oracle, a run or a file."""
    episodes: int = 32
    """Fixed episodes in the table; the film shows one of them."""
    seed: int = 2
    """Which episode is filmed; by default one that the agent wins."""
    out: Path = Path("demo")
    """Folder for the results."""


def run(argv: list[str]) -> None:
    """Run the demo and say where the results are."""
    config = tyro.cli(DemoConfig, prog="jostle demo", args=argv)
    task = TASKS["ThreeCubes"]
    wanted = FilmConfig(  # as long as the episodes that are scored
        task=task.name, agent=config.agent, seed=config.seed, out=config.out,
        steps=task.horizon(task.objects),
    )  # fmt: skip
    film, contact, footage = make_film(wanted)
    sees = bool(what_it_reads(config.agent))
    seen = make_film(replace(wanted, overlay="particles"))[0] if sees else None
    tasks = save_picture(suite_sheet(), config.out / "tasks.png")
    sitting = Sitting(
        agent=config.agent, task="ThreeCubes", episodes=config.episodes, copies=config.episodes
    )
    scores = examine_with_bar(sitting)
    table = markdown([scores.summary()])
    (config.out / "metrics.md").write_text(table)
    millimeters = np.round(1000 * footage.distances[-1]).astype(int).tolist()
    ending = "every cube is home" if footage.success else "not every cube is home"
    print(f"\n{table}\nOn film, {ending} (distances {millimeters} mm).")
    print(f"film:          {film}\ncontact sheet: {contact}\nall tasks:     {tasks}")
    print(f"metrics:       {config.out / 'metrics.md'}")
    if seen is not None:
        print(f"what it sees:  {seen}")
