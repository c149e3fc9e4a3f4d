"""`jostle docs`: the pictures of the documentation, made from the environments themselves."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tqdm import tqdm

from jostle.envs.vector import TabletopVectorEnv
from jostle.reports.films import Frame, beside, save_picture, sheet, titled
from jostle.tasks.catalog import TASKS

SHOWN = (
    ("ThreeCubes", None), ("SixCubes", None), ("AdjacentGoals", None), ("SmallTable", None),
    ("OrderedPush", None), ("PushT", 2), ("Sorting", None), ("Distractors", None),
)  # fmt: skip
"""Tasks of the suite picture, with their number of objects."""


@dataclass(frozen=True, kw_only=True)
class DocsConfig:
    """Make the pictures of the documentation."""

    out: Path = Path("docs")
    """The documentation folder; pictures go to its 'pictures'."""
    seed: int = 0
    """Which episode of each task is shown."""


def run(argv: list[str]) -> None:
    """Draw every picture that the documentation names."""
    config = tyro.cli(DocsConfig, prog="jostle docs", args=argv)
    folder = config.out / "pictures"
    made = [save_picture(suite_sheet(config.seed), folder / "tasks.png")]
    for name, objects in tqdm(SHOWN, desc="tasks"):
        now, goal = photograph(name, objects, 320, config.seed)
        made.append(save_picture(beside(*now, *goal), folder / f"{name}.png"))
    print("\n".join(str(path) for path in made))


def suite_sheet(seed: int = 0) -> Frame:
    """One picture of all tasks: start and goal of each, from the front."""
    frames, titles = [], []
    for name, objects in SHOWN:
        now, goal = photograph(name, objects, 256, seed)
        frames.append(beside(titled(now[0], "start"), titled(goal[0], "goal")))
        titles.append(name)
    return sheet(frames, 2, titles)


def photograph(
    name: str, objects: int | None, size: int, seed: int
) -> tuple[list[Frame], list[Frame]]:
    """Draw one episode's start and its goal, each from the front and from the side."""
    env = TabletopVectorEnv(1, TASKS[name].name, objects=objects, obs_type="both", image_size=size)
    observation, _ = env.reset(seed=seed)
    cameras = [camera.name for camera in env.recipe.look.cameras]
    now = [observation[camera][0] for camera in cameras]
    goal = [observation[f"goal_{camera}"][0] for camera in cameras]
    env.close()
    return now, goal
