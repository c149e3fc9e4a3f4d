"""`jostle video`: one episode of one or several agents as a video and a contact sheet."""

import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from jostle.cli.bars import progress_bar
from jostle.core.catalog import Catalog
from jostle.core.checks import check_int, check_output
from jostle.core.errors import BadValueError, require
from jostle.core.protocols import Policy
from jostle.envs.vary_check import check_varied_episodes
from jostle.envs.vector import TabletopVectorEnv
from jostle.reports.video import Frame, check_packages, save_image, save_video
from jostle.reports.video_layout import Panel, draw_frames, draw_sheet
from jostle.rollout.recording import HERO, Recording, VideoRenderer, record
from jostle.rollout.rollout import Step
from jostle.scene.cameras import resolve_cameras
from jostle.scene.colors import parse_color
from jostle.tasks.vary import Vary, parse_vary
from jostle.zoo.agents import check_agent_name, load_policy, required_env_kwargs

if TYPE_CHECKING:  # needs the extra 'train', videos of scripted policies do not
    from jostle.cli.overlay_recorder import OverlayRecorder

OVERLAYS: Catalog[str] = Catalog(
    "overlay",
    {
        "none": "the views alone",
        "particles": "the agent's own frames with the entities that its encoder detects",
        "attention": "the same, by the actor's attention to each entity",
        "goal": "the agent's goal images with the entities that its encoder detects",
    },
)

_COLOR_OPTIONS = ("fixed", "random", "hues")


@dataclass(frozen=True, kw_only=True)
class VideoConfig:
    """Record one episode of an agent, or of several agents side by side."""

    task: Annotated[str, tyro.conf.Positional]
    """Name of a task (see 'jostle tasks')."""
    agent: tuple[str, ...] = ("oracle",)
    """Agents: oracle, random, names of the zoo, run directories or weights files. Several of them
    play the same episode side by side."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    colors: tuple[str, ...] = ("fixed",)
    """Colors of the objects: fixed, random, hues, or one color name per object."""
    vary: tuple[str, ...] = ()
    """What differs from the task: factors such as shape=star mass=x20 color=held-out light=0.7;
    docs/tasks.md lists them."""
    seed: int = 0
    """Seed of the episode."""
    steps: int | None = None
    """Length of the video in actions; 25 per object by default."""
    camera: tuple[str, ...] = (HERO,)
    """Cameras of the video: hero (the whole table and the arm), front, side, top, corner. What the
    agents observe does not depend on them."""
    ghosts: bool = True
    """Show the goals as translucent objects on the table."""
    out: Path = Path("videos")
    """Folder for the results."""
    format: str = "mp4"
    """mp4 or gif."""
    size: int = 384
    """Height and width of each view in pixels."""
    fps: int = 6
    """Actions shown per second (real time is 3)."""
    failures: bool = False
    """Instead of a video, evaluate the agent on --episodes episodes and make a sheet of the failed
    ones for each cause of failure (docs/concepts/failures.md)."""
    episodes: int = 100
    """Episodes to look for failures in, from --seed on."""
    overlay: str = "none"
    """none; for pixel agents also particles, attention (of the actor's pooling) or goal: what the
    agent sees, beside the views."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        parse_vary(self.vary)
        resolve_cameras(self.camera)
        require(len(self.camera) > 0, "Name at least one camera, such as hero.")
        require(len(self.agent) > 0, "Name at least one agent, such as oracle.")
        require(
            self.colors == ("fixed",) or "color" not in dict(parse_vary(self.vary).values),
            "Colors are given twice, by --colors and by --vary color=...: leave one of them out.",
        )
        for color in () if self.color_option in _COLOR_OPTIONS else self.colors:
            parse_color(color)
        check_int("seed", self.seed, 0)
        check_int("episodes", self.episodes, 1)
        check_int("fps", self.fps, 1)
        check_int("size", self.size, 8)
        if self.steps is not None:
            check_int("steps", self.steps, 1)

    @property
    def color_option(self) -> str | tuple[str, ...]:
        """The colors as an option of environments."""
        named = len(self.colors) == 1 and self.colors[0] in _COLOR_OPTIONS
        return self.colors[0] if named else self.colors


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
    video, sheet, recordings = make_video(config)
    for agent, recording in zip(config.agent, recordings, strict=True):
        outcome = "success" if recording.success else "no success"
        distances = np.round(recording.distances[-1], 3).tolist()
        print(f"{agent}: {outcome}; final distances: {distances}")
    print(f"video:         {video}\ncontact sheet: {sheet}")


def make_video(config: VideoConfig) -> tuple[Path, Path, list[Recording]]:
    """Record one episode; returns the paths of video and contact sheet, and the recordings."""
    require(config.format in ("mp4", "gif"), f"format is mp4 or gif, not '{config.format}'.")
    _ = OVERLAYS[config.overlay]
    check_packages(video=config.format == "mp4")
    check_output(config.out, folder=True)
    frames, recordings = video_frames(config)
    stem = file_name(config)
    video = save_video(frames, config.out / f"{stem}.{config.format}", config.fps)
    sheet = draw_sheet(frames, recordings[0].goals)
    return video, save_image(sheet, config.out / f"{stem}.png"), recordings


def video_frames(config: VideoConfig) -> tuple[list[Frame], list[Recording]]:
    """Record one episode of every agent; returns the frames of the video, and the recordings."""
    vary = parse_vary(config.vary)
    options = [_env_kwargs(config, agent, vary) for agent in config.agent]
    check_varied_episodes(vary, config.task, options[0], [config.seed])
    panels, recordings = [], []
    for agent, kwargs in zip(config.agent, options, strict=True):
        panel, recording = _record_agent(config, agent, kwargs)
        panels.append(panel)
        recordings.append(recording)
        require(
            np.array_equal(recording.distances[0], recordings[0].distances[0]),
            f"'{agent}' needs another scene than '{config.agent[0]}', so they cannot play the same "
            "episode: record them separately.",
        )
    return draw_frames(panels), recordings


def _env_kwargs(config: VideoConfig, agent: str, vary: Vary) -> dict[str, Any]:
    """Options of the environment that one agent acts in."""
    check_agent_name(agent)
    options = vary.env_kwargs(required_env_kwargs(agent), agent)
    return {**options, "objects": config.objects, "colors": config.color_option}


def _record_agent(
    config: VideoConfig, agent: str, kwargs: dict[str, Any]
) -> tuple[Panel, Recording]:
    """Record the episode with one agent: the seed alone decides where objects start and go."""
    env = TabletopVectorEnv(1, config.task, autoreset_mode="Disabled", **kwargs)
    steps = 25 * env.episode_sampler.max_objects if config.steps is None else config.steps
    cameras = [camera.name for camera in env.episode_sampler.appearance.cameras]
    renderer = VideoRenderer(env, config.size, config.camera, config.ghosts)
    with closing(env), closing(renderer):
        policy = load_policy(agent, env)
        overlay = _overlay_recorder(config, agent, policy, cameras)
        with progress_bar(steps + 1, "step", f"recording {agent}") as bar:

            def on_step(step: Step) -> None:
                bar.update()
                if overlay is not None:
                    overlay.record(step)

            recording = record(env, policy, steps, config.seed, renderer, on_step)[0]
    positions = env.goal_metric.goal_type == "position"
    scale, unit = (1000, "mm") if positions else (180 / np.pi, "degrees")
    panel = Panel(
        title=Path(agent).stem if agent.endswith(".safetensors") else agent.rstrip("/"),
        views=recording.views,
        distances=scale * recording.distances,
        reached=recording.reached,
        colors=recording.colors,
        unit=unit,
        beside=() if overlay is None else overlay.columns,
    )
    return panel, recording


def _overlay_recorder(
    config: VideoConfig, agent: str, policy: Policy, cameras: list[str]
) -> "OverlayRecorder | None":
    if config.overlay == "none":
        return None
    encoder = getattr(policy, "encoder", None)
    if encoder is None:
        raise BadValueError(
            f"The overlay '{config.overlay}' needs a pixel agent, but '{agent}' observes "
            "true state. Name an agent that was trained from pixels, or use --overlay none."
        )
    from jostle.cli.overlay_recorder import OverlayRecorder

    return OverlayRecorder(policy, encoder, cameras, config.overlay, config.size)


def file_name(config: VideoConfig) -> str:
    """Name of the files, without their suffix: what the video shows."""
    parts = [config.task, *(Path(agent).stem for agent in config.agent), str(config.seed)]
    if config.colors != ("fixed",):
        parts += config.colors
    if config.camera != (HERO,):
        parts += config.camera
    if config.vary:
        parts.append(re.sub(r"[^\w.+]+", "-", str(parse_vary(config.vary))))
    if config.overlay != "none":
        parts.append(config.overlay)
    return "-".join(parts)
