"""`jostle video`: one episode of an agent as a video and a contact sheet."""

import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro

from jostle.cli.bars import progress_bar
from jostle.core.catalog import Catalog
from jostle.core.checks import check_int, check_output
from jostle.core.errors import BadValueError, require
from jostle.core.protocols import Policy
from jostle.envs.vary_check import check_varied_episodes
from jostle.envs.vector import TabletopVectorEnv
from jostle.reports.video import (
    Frame,
    check_packages,
    contact_sheet,
    hstack,
    save_image,
    save_video,
    with_title,
)
from jostle.rollout.recording import Recording, VideoRenderer, record
from jostle.rollout.rollout import Step
from jostle.tasks.vary import parse_vary
from jostle.zoo.agents import load_policy, required_env_kwargs

if TYPE_CHECKING:  # needs the extra 'train', videos of scripted policies do not
    from jostle.cli.overlay_recorder import OverlayRecorder

OVERLAYS: Catalog[str] = Catalog(
    "overlay",
    {
        "none": "the views and the goal",
        "particles": "the entities that the agent's encoder detects",
        "attention": "the actor's attention to each entity",
        "goal": "the entities detected in the goal images",
    },
)


@dataclass(frozen=True, kw_only=True)
class VideoConfig:
    """Record one episode of an agent."""

    task: Annotated[str, tyro.conf.Positional]
    """Name of a task (see 'jostle tasks')."""
    agent: str = "oracle"
    """Agent: oracle, random, a name of the zoo, a run directory or a weights file."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    colors: str = "fixed"
    """Colors of the objects: fixed, random or hues."""
    vary: tuple[str, ...] = ()
    """What differs from the task: factors such as shape=star mass=x20 color=held-out light=0.7;
    docs/tasks.md lists them."""
    seed: int = 0
    """Seed of the episode."""
    steps: int | None = None
    """Length of the video in actions; 25 per object by default."""
    out: Path = Path("videos")
    """Folder for the results."""
    format: str = "mp4"
    """mp4 or gif."""
    size: int = 256
    """Height and width of each view in pixels."""
    fps: int = 6
    """Actions shown per second (real time is 3)."""
    shadows: bool = False
    """Render shadows in the video; the agent's own frames do not change."""
    failures: bool = False
    """Instead of a video, evaluate --episodes episodes and make a sheet of the failed ones for
    each cause of failure (docs/concepts/failures.md)."""
    episodes: int = 100
    """Episodes to look for failures in, from --seed on."""
    overlay: str = "none"
    """none; for pixel agents also particles, attention (of the actor's pooling) or goal."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        parse_vary(self.vary)
        check_int("seed", self.seed, 0)
        check_int("episodes", self.episodes, 1)
        check_int("fps", self.fps, 1)
        check_int("size", self.size, 8)
        if self.steps is not None:
            check_int("steps", self.steps, 1)


def run(argv: list[str]) -> None:
    """Record the video and print where it is."""
    config = tyro.cli(VideoConfig, prog="jostle video", args=argv)
    if config.failures:
        from jostle.cli.failure_sheets import make_failure_sheets

        table, sheets = make_failure_sheets(config)
        print(table)
        for path in sheets:
            print(f"sheet: {path}")
        return
    video, sheet, recording = make_video(config)
    outcome = "success" if recording.success else "no success"
    print(f"{outcome}; final distances: {np.round(recording.distances[-1], 3).tolist()}")
    print(f"video:         {video}\ncontact sheet: {sheet}")


def make_video(config: VideoConfig) -> tuple[Path, Path, Recording]:
    """Record one episode; returns the paths of video and contact sheet, and the recording."""
    require(config.format in ("mp4", "gif"), f"format is mp4 or gif, not '{config.format}'.")
    _ = OVERLAYS[config.overlay]
    check_packages(video=config.format == "mp4")
    check_output(config.out, folder=True)
    vary = parse_vary(config.vary)
    options = vary.env_kwargs(required_env_kwargs(config.agent), config.agent)
    options |= {"objects": config.objects, "colors": config.colors}
    check_varied_episodes(vary, config.task, options, [config.seed])
    env = TabletopVectorEnv(1, config.task, autoreset_mode="Disabled", **options)
    # Episode
    steps = 25 * env.episode_sampler.max_objects if config.steps is None else config.steps
    with closing(env), closing(VideoRenderer(env, config.size, config.shadows)) as renderer:
        policy = load_policy(config.agent, env)
        overlay = _overlay_recorder(config, policy, renderer.names)
        with progress_bar(steps + 1, "step", f"recording {config.task}") as bar:

            def on_step(step: Step) -> None:
                bar.update()
                if overlay is not None:
                    overlay.record(step)

            recording = record(env, policy, steps, config.seed, renderer, on_step)[0]
    # Layout
    stem = file_stem(config)
    if overlay is None:
        frames = _frames(recording)
    else:
        frames = overlay.frames(recording, _captions(recording, env.goal_metric.goal_type))
        stem = f"{stem}-{config.overlay}"
    # Files
    video = save_video(frames, config.out / f"{stem}.{config.format}", config.fps)
    shown = np.linspace(0, len(frames) - 1, 8).astype(int)
    sheet = contact_sheet(
        [frames[index] for index in shown], 2, [f"step {index}" for index in shown]
    )
    return video, save_image(sheet, config.out / f"{stem}.png"), recording


def file_stem(config: VideoConfig) -> str:
    """Name of the files of a recording, without suffix."""
    stem = f"{config.task}-{Path(config.agent).stem}-{config.seed}"
    changes = re.sub(r"[^\w.+]+", "-", str(parse_vary(config.vary)))
    return f"{stem}-{changes}" if changes else stem


def _overlay_recorder(
    config: VideoConfig, policy: Policy, cameras: list[str]
) -> "OverlayRecorder | None":
    if config.overlay == "none":
        return None
    encoder = getattr(policy, "encoder", None)
    if encoder is None:
        raise BadValueError(
            f"The overlay '{config.overlay}' needs a pixel agent, but '{config.agent}' observes "
            "true state. Name an agent that was trained from pixels, or use --overlay none."
        )
    from jostle.cli.overlay_recorder import OverlayRecorder

    return OverlayRecorder(policy, encoder, cameras, config.overlay)


def _captions(recording: Recording, goal_type: str) -> list[str]:
    """True distances to the goal in each step, which the agent does not observe."""
    scale, unit = (1000, " mm") if goal_type == "position" else (180 / np.pi, "°")
    distances = np.rint(scale * recording.distances).astype(int)  # (T + 1, N)
    return [f"distance to goal: {', '.join(map(str, row))}{unit}" for row in distances.tolist()]


def _frames(recording: Recording) -> list[Frame]:
    names = list(recording.views)
    goal = with_title(recording.goals[names[0]], "goal")
    return [
        hstack(*(with_title(recording.views[name][index], name) for name in names), goal)
        for index in range(len(recording.views[names[0]]))
    ]
