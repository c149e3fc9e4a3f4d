"""`jostle collect TASK`: frames with ground truth, for training and probing encoders."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tyro

from jostle.cli.bars import progress_bar
from jostle.core.checks import check_output
from jostle.rollout.frame_collector import CollectOptions, Progress, collect_frames
from jostle.rollout.frame_dataset import FrameDatasetSpec


@dataclass(frozen=True, kw_only=True)
class CollectConfig:
    """Collect frames of a task into a folder; the same command resumes if it is interrupted."""

    dataset: tyro.conf.OmitArgPrefixes[FrameDatasetSpec]
    """Which frames to collect."""
    options: tyro.conf.OmitArgPrefixes[CollectOptions] = field(default_factory=CollectOptions)
    """How to run the collection."""
    frames: int
    """Total number of frames of this task in the folder; each camera image counts as one."""
    out: Path
    """Folder for the shards. Tasks may share it if cameras and size are equal."""


def run(argv: list[str]) -> None:
    """Collect with a progress bar, and print where the frames are."""
    config = tyro.cli(CollectConfig, prog="jostle collect", args=argv)
    check_output(config.out, folder=True)
    total = collect_with_bar(config.dataset, config.frames, config.out, config.options)
    print(f"{total} frames of {config.dataset.task} in {config.out}")


def collect_with_bar(
    dataset: FrameDatasetSpec, frames: int, out: Path, options: CollectOptions
) -> int:
    """Collect until there are `frames` frames; returns how many there are."""
    bar: Any = None

    def start_bar(total: int, done: int) -> Progress:
        nonlocal bar
        bar = progress_bar(total, "frame", dataset.task, done)
        update: Progress = bar.update
        return update

    try:
        return collect_frames(dataset, frames, out, options, start_bar)
    except KeyboardInterrupt:
        print(f"\nstopped; the same command resumes. Complete shards are in {out}")
        raise
    finally:
        if bar is not None:
            bar.close()
