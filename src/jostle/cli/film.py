"""`jostle film`: an agent at work, as a film and a contact sheet."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from tqdm import tqdm

from jostle.core.errors import require
from jostle.envs.vector import TabletopVectorEnv
from jostle.reports.films import Frame, beside, save_film, save_picture, sheet, titled
from jostle.rollout.footage import Footage, shoot
from jostle.zoo.agents import agent_for


@dataclass(frozen=True, kw_only=True)
class FilmConfig:
    """Film an agent at work."""

    task: Annotated[str, tyro.conf.Positional]
    """Name of a task (see 'jostle tasks')."""
    agent: str = "oracle"
    """Who acts: oracle, random, a name of the zoo, a run's folder or a file of weights."""
    objects: int | None = None
    """How many objects; the task's own number by default."""
    seed: int = 0
    """Which episode."""
    steps: int | None = None
    """Length of the film in actions; 25 per object by default."""
    out: Path = Path("films")
    """Folder for the results."""
    kind: str = "mp4"
    """mp4 or gif."""
    size: int = 256
    """Side of each view in pixels."""
    fps: int = 6
    """Actions shown per second (real time is 3)."""
    shadows: bool = False
    """Draw shadows."""


def run(argv: list[str]) -> None:
    """Film, and say where the film is."""
    config = tyro.cli(FilmConfig, prog="jostle film", args=argv)
    film, contact, footage = make_film(config)
    ending = "success" if footage.success else "no success"
    print(f"{ending}; distances at the end: {np.round(footage.distances[-1], 3).tolist()}")
    print(f"film:          {film}\ncontact sheet: {contact}")


def make_film(config: FilmConfig) -> tuple[Path, Path, Footage]:
    """Film one episode; returns the film, the contact sheet and what was seen."""
    require(config.kind in ("mp4", "gif"), f"kind is mp4 or gif, not '{config.kind}'.")
    env = TabletopVectorEnv(
        1, config.task, objects=config.objects, obs_type="both", image_size=config.size,
        shadows=config.shadows, autoreset_mode="Disabled",
    )  # fmt: skip
    steps = config.steps or 25 * env.recipe.most
    with tqdm(total=steps + 1, desc=f"filming {config.task}", unit="step") as bar:
        footage = shoot(env, agent_for(config.agent, env), steps, config.seed, progress=bar.update)[
            0
        ]
    env.close()
    frames = _frames(footage)
    stem = f"{config.task}-{Path(config.agent).stem}-{config.seed}"
    film = save_film(frames, config.out / f"{stem}.{config.kind}", config.fps)
    chosen = np.linspace(0, len(frames) - 1, 8).astype(int)
    contact = sheet([frames[index] for index in chosen], 2, [f"step {index}" for index in chosen])
    return film, save_picture(contact, config.out / f"{stem}.png"), footage


def _frames(footage: Footage) -> list[Frame]:
    names = list(footage.views)
    goal = titled(footage.goals[names[0]], "goal")
    return [
        beside(*(titled(footage.views[name][index], name) for name in names), goal)
        for index in range(len(footage.views[names[0]]))
    ]
