"""`jostle collect TASK`: frames for learning to see, and what they truly show."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro
from tqdm import tqdm

from jostle.rollout.collection import Collection
from jostle.rollout.snapshots import Pace, Progress, collect


@dataclass(frozen=True, kw_only=True)
class CollectConfig:
    """Collect frames of a task into a folder; repeated, it goes on where it stopped."""

    collection: tyro.conf.OmitArgPrefixes[Collection]
    """What to collect."""
    pace: tyro.conf.OmitArgPrefixes[Pace] = field(default_factory=Pace)
    """How the work is cut."""
    frames: int
    """How many frames of this task the folder shall hold; every camera's picture counts as one."""
    out: Path
    """Folder for the shards. Tasks may share it if cameras and size are equal."""


def run(argv: list[str]) -> None:
    """Collect with a bar, and say where the frames are."""
    config = tyro.cli(CollectConfig, prog="jostle collect", args=argv)
    found = collect_with_bar(config.collection, config.frames, config.out, config.pace)
    print(f"{found} frames of {config.collection.task} in {config.out}")


def collect_with_bar(collection: Collection, frames: int, out: Path, pace: Pace) -> int:
    """Bring a collection to so many frames; says how many there are now."""
    bar: tqdm | None = None

    def show(total: int, done: int) -> Progress:
        nonlocal bar
        bar = tqdm(total=total, initial=done, desc=collection.task, unit="frame")
        return bar.update

    try:
        return collect(collection, frames, out, pace, show)
    except KeyboardInterrupt:
        print(f"\nstopped; the same command goes on. Complete shards are in {out}")
        raise
    finally:
        if bar is not None:
            bar.close()
