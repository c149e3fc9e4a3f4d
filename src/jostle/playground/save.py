"""Files that the page saves: films, and episodes for `jostle evaluate --episodes-file`."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jostle.core.errors import require
from jostle.playground.history import ShownFrame
from jostle.tasks.catalog import dashed
from jostle.tasks.episode import EpisodeSpec

SAVED = ("film", "episode", "moment")
"""A film of the running episode; the episode from its start; the present state as a start."""
_MAX_FPS = 30


def save_film(frames: Sequence[ShownFrame], cameras: Sequence[str], path: Path) -> Path:
    """Write shown frames as a video, all cameras side by side."""
    from jostle.playground.views import decode
    from jostle.reports.video import hstack, save_video, with_title

    require(len(frames) > 1, "There is nothing to film yet: let the episode run for a moment.")
    images = [
        hstack(*(with_title(decode(view), name) for name, view in zip(cameras, frame.views)))  # noqa: B905 - a switch of agents may change the cameras
        for frame in frames
    ]
    shape = images[-1].shape
    images = [image for image in images if image.shape == shape]
    gaps = np.diff([frame.time for frame in frames])
    fps = int(np.clip(round(1 / max(float(np.median(gaps)), 1e-3)), 1, _MAX_FPS))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        save_video(images, part, fps)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def save_episode(episode: EpisodeSpec, path: Path) -> Path:
    """Write one episode as a line of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(episode.to_json() + "\n")
    part.replace(path)
    return path


def new_path(folder: Path, task: str, agent: str, what: str) -> Path:
    """A name that no file in the folder has yet."""
    agent_name = re.sub(r"[^\w.-]+", "-", Path(agent).name)
    stem = f"{dashed(task)}-{agent_name}-{what}"
    suffix = ".mp4" if what == "film" else ".jsonl"
    taken = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    number = 1
    while f"{stem}-{number}{suffix}" in taken:
        number += 1
    return folder / f"{stem}-{number}{suffix}"
