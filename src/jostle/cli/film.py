"""`jostle film`: an agent at work, as a film and a contact sheet."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro
from tqdm import tqdm

from jostle.core.catalog import Catalog
from jostle.core.errors import BadValueError, require
from jostle.core.protocols import Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.reports.films import Frame, beside, save_film, save_picture, sheet, titled
from jostle.rollout.driver import Step
from jostle.rollout.footage import FilmCamera, Footage, shoot
from jostle.zoo.agents import agent_for, what_it_reads

if TYPE_CHECKING:  # needs the extra 'train', which films of scripts do not
    from jostle.cli.seeing import Witness

OVERLAYS: Catalog[str] = Catalog(
    "overlay",
    {
        "none": "the views and the goal",
        "particles": "what the agent finds in its frames",
        "attention": "how much the actor makes of each of these",
        "goal": "what the agent finds in the pictures of the goal",
    },
)


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
    """Draw shadows, for the viewer only."""
    overlay: str = "none"
    """none, or for agents that see: particles, attention (of the actor's pooling) or goal."""


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
    _ = OVERLAYS[config.overlay]
    env = TabletopVectorEnv(
        1, config.task, objects=config.objects, autoreset_mode="Disabled",
        **what_it_reads(config.agent),
    )  # fmt: skip
    steps = config.steps or 25 * env.recipe.most
    with closing(env), closing(FilmCamera(env, config.size, config.shadows)) as camera:
        policy = agent_for(config.agent, env)
        witness = _witness(config, policy, camera.names)
        with tqdm(total=steps + 1, desc=f"filming {config.task}", unit="step") as bar:

            def watch(step: Step) -> None:
                bar.update()
                if witness is not None:
                    witness.watch(step)

            footage = shoot(env, policy, steps, config.seed, camera, watch)[0]
    stem = f"{config.task}-{Path(config.agent).stem}-{config.seed}"
    if witness is None:
        frames = _frames(footage)
    else:
        frames = witness.frames(footage, _captions(footage, env.measure.kind))
        stem = f"{stem}-{config.overlay}"
    film = save_film(frames, config.out / f"{stem}.{config.kind}", config.fps)
    chosen = np.linspace(0, len(frames) - 1, 8).astype(int)
    contact = sheet([frames[index] for index in chosen], 2, [f"step {index}" for index in chosen])
    return film, save_picture(contact, config.out / f"{stem}.png"), footage


def _witness(config: FilmConfig, policy: Policy, cameras: list[str]) -> "Witness | None":
    if config.overlay == "none":
        return None
    eyes = getattr(policy, "eyes", None)
    if eyes is None:
        raise BadValueError(
            f"The overlay '{config.overlay}' shows what an agent sees, but '{config.agent}' reads "
            "true state. Name an agent that was trained from pixels, or leave --overlay none."
        )
    from jostle.cli.seeing import Witness

    return Witness(policy, eyes, cameras, config.overlay)


def _captions(footage: Footage, kind: str) -> list[str]:
    """True distances to the goal, which the agent is never told."""
    scale, unit = (1000, " mm") if kind == "position" else (180 / np.pi, "°")
    whole = np.rint(scale * footage.distances).astype(int)  # (T + 1, N)
    return [f"to the goal: {', '.join(map(str, row))}{unit}" for row in whole.tolist()]


def _frames(footage: Footage) -> list[Frame]:
    names = list(footage.views)
    goal = titled(footage.goals[names[0]], "goal")
    return [
        beside(*(titled(footage.views[name][index], name) for name in names), goal)
        for index in range(len(footage.views[names[0]]))
    ]
