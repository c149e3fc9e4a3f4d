"""The pictures of the documentation that show environments and agents."""

from contextlib import closing
from pathlib import Path

import numpy as np

from jostle.cli.video import VideoConfig, video_frames
from jostle.core.errors import require
from jostle.envs.vector import TabletopVectorEnv
from jostle.reports.video import Frame, contact_sheet, enlarged, hstack, save_image, save_video
from jostle.reports.video_layout import with_label
from jostle.rollout.recording import VideoRenderer
from jostle.rollout.rollout import rollout
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import load_policy

TASK_PICTURES = {
    "ThreeCubes": None, "SixCubes": None, "AdjacentGoals": None, "SmallTable": None,
    "OrderedPush": None, "PushT": 2, "Sorting": None, "Distractors": None,
}  # fmt: skip
"""Tasks with a picture, and their number of objects if it is not the task's own."""
FILMS = {
    "three-cubes-pixels": VideoConfig(
        task="ThreeCubes", agent=("three-cubes-pixels",), overlay="attention", seed=2, steps=60,
        size=368, format="gif",
    ),
    "three-cubes-objects": VideoConfig(
        task="ThreeCubes", agent=("three-cubes-objects",), overlay="particles", seed=2, steps=60,
        size=320, format="gif",
    ),
}  # fmt: skip
"""Films by name, as flags of `jostle video`: episodes that succeed. The first is the README's."""


def draw_hero(path: Path, seed: int = 0) -> Path:
    """A wide picture of six cubes while the oracle pushes them."""
    env = TabletopVectorEnv(1, "SixCubes", autoreset_mode="Disabled")
    with closing(env), closing(VideoRenderer(env, (540, 810))) as renderer:
        rollout(env, load_policy("oracle", env), 9, seed=seed)
        return save_image(renderer.render()[0, 0], path)


def draw_tasks(path: Path, seed: int = 0) -> Path:
    """One picture of all tasks."""
    return save_image(suite_sheet(seed), path)


def suite_sheet(seed: int = 0) -> Frame:
    """All tasks at the start of an episode; translucent objects show the goals."""
    frames = [_start_and_goal(name, 264, seed)[0] for name in TASK_PICTURES]
    return contact_sheet(frames, 4, list(TASK_PICTURES))


def draw_task(path: Path, name: str, seed: int = 0) -> Path:
    """Start and goal of one episode, and what agents observe of its start."""
    start, goal, observed = _start_and_goal(name, 320, seed)
    cells = [
        with_label(enlarged(frame, 160), f"observed: {camera}")
        for camera, frame in observed.items()
    ]
    picture = hstack(with_label(start, "start"), with_label(goal, "goal"), np.concatenate(cells))
    return save_image(picture, path)


def draw_film(path: Path) -> Path:
    """The film of this name."""
    film = FILMS[path.stem]
    frames, recordings = video_frames(film)
    require(
        recordings[0].success,
        f"The episode of {path.name} does not succeed any more: choose another seed.",
    )
    return save_video(frames, path, film.fps)


def _start_and_goal(name: str, size: int, seed: int) -> tuple[Frame, Frame, dict[str, Frame]]:
    """Start and goal of an episode for people, and the observed frames of the start by camera."""
    env = TabletopVectorEnv(1, TASKS[name].name, objects=TASK_PICTURES[name], obs_type="both")
    with closing(env), closing(VideoRenderer(env, size, ("table",))) as renderer:
        observation, _ = env.reset(seed=seed)
        start, goal = renderer.render()[0, 0], renderer.render_goals()[0, 0]
        observed = [view.name for view in env.episode_sampler.appearance.cameras]
        return start, goal, {view: observation[view][0] for view in observed}
