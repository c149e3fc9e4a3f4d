"""`jostle docs`: images of the documentation, rendered from the environments."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from jostle.cli.bars import progress_bar
from jostle.cli.docs_figures import draw_concepts
from jostle.core.checks import check_int, check_output
from jostle.core.extras import require_packages
from jostle.envs.vector import TabletopVectorEnv
from jostle.reports.architecture import draw_architecture
from jostle.reports.video import Frame, contact_sheet, hstack, save_image, with_title
from jostle.tasks.catalog import TASKS

_SHOWN = (
    ("ThreeCubes", None), ("SixCubes", None), ("AdjacentGoals", None), ("SmallTable", None),
    ("OrderedPush", None), ("PushT", 2), ("Sorting", None), ("Distractors", None),
)  # fmt: skip
"""Tasks of the overview image, with their number of objects."""


@dataclass(frozen=True, kw_only=True)
class DocsConfig:
    """Render the images of the documentation."""

    out: Path = Path("docs")
    """The documentation folder; images go to its 'pictures'."""
    seed: int = 0
    """Seed of the episode shown of each task."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("seed", self.seed, 0)


def run(argv: list[str]) -> None:
    """Render every image that the documentation shows."""
    config = tyro.cli(DocsConfig, prog="jostle docs", args=argv)
    folder = config.out / "pictures"
    check_output(folder, folder=True)
    require_packages("Rendering the images of the documentation", "matplotlib", "torch")
    paths = [draw_architecture(folder / "architecture.png")]
    paths += draw_concepts(folder / "concepts", config.seed)
    paths.append(save_image(suite_sheet(config.seed), folder / "tasks.png"))
    with progress_bar(len(_SHOWN), "task") as bar:
        for name, objects in _SHOWN:
            start, goal = render_episode(name, objects, 320, config.seed)
            paths.append(save_image(hstack(*start, *goal), folder / f"{name}.png"))
            bar.update()
    print("\n".join(str(path) for path in paths))


def suite_sheet(seed: int = 0) -> Frame:
    """One image of all tasks: start and goal of each, in the front view."""
    frames, titles = [], []
    for name, objects in _SHOWN:
        start, goal = render_episode(name, objects, 256, seed)
        frames.append(hstack(with_title(start[0], "start"), with_title(goal[0], "goal")))
        titles.append(name)
    return contact_sheet(frames, 2, titles)


def render_episode(
    name: str, objects: int | None, size: int, seed: int
) -> tuple[list[Frame], list[Frame]]:
    """Render the start and the goal of one episode, each in all views."""
    env = TabletopVectorEnv(1, TASKS[name].name, objects=objects, obs_type="both", image_size=size)
    observation, _ = env.reset(seed=seed)
    cameras = [camera.name for camera in env.episode_sampler.appearance.cameras]
    start = [observation[camera][0] for camera in cameras]
    goal = [observation[f"goal_{camera}"][0] for camera in cameras]
    env.close()
    return start, goal
