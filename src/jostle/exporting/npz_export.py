"""Recordings as npz files in the layouts of OGBench and of HECRL.

Both store all steps of all episodes along one axis, T + 1 rows per episode: an observation, the
action that follows, and `terminals`, 1 at the last row of an episode, whose action means nothing
(zeros here). OGBench has vectors as `observations`. HECRL has images of all views there, and the
vectors as `state_observations`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.exporting.npz_files import NpzWriter
from jostle.exporting.options import NpzOptions
from jostle.recordings.reader import RecordedEpisodes


def export_npz(recorded: RecordedEpisodes, folder: Path, options: NpzOptions) -> list[Path]:
    """Write `NAME.npz` and, with episodes for validation, `NAME-val.npz` into a folder."""
    require(
        options.layout == "ogbench" or bool(recorded.cameras),
        f"{recorded.folder} has no images, which the layout hecrl starts from: record with --obs "
        "pixels, or use --layout ogbench.",
    )
    count = len(recorded)
    held_out = round(options.val_fraction * count)
    require(held_out < count, f"val_fraction leaves none of {count} episodes to train on.")
    files = {f"{options.name}.npz": range(count - held_out)}
    if held_out:
        files[f"{options.name}-val.npz"] = range(count - held_out, count)
    for name, episodes in files.items():
        with NpzWriter(folder / name) as file:
            _write(file, recorded, episodes, options.layout)
    return [folder / name for name in files]


def _write(file: NpzWriter, recorded: RecordedEpisodes, episodes: range, layout: str) -> None:
    rows = len(episodes) * (recorded.steps + 1)

    # What both layouts have
    vectors = "observations" if layout == "ogbench" else "state_observations"
    file.write(vectors, rows, _flat(recorded, episodes, "observation"))
    file.write("actions", rows, _padded(recorded, episodes, "action"))
    last = np.arange(recorded.steps + 1) == recorded.steps
    dtype = np.float32 if layout == "ogbench" else np.bool_
    file.write("terminals", rows, (last.astype(dtype) for _ in episodes))
    if layout == "hecrl":
        file.write("observations", rows, _each(recorded, episodes, "frames"))

    # Rewards and goals, which neither has: by step and by episode
    file.write("rewards", rows, _padded(recorded, episodes, "reward"))
    file.write("desired_goals", len(episodes), _once(recorded, episodes, "desired_goal"))
    if layout == "hecrl":
        file.write("goal_images", len(episodes), _once(recorded, episodes, "goal_frames"))
    seeds = recorded.table["seed"][list(episodes)].astype(np.int64)
    file.write("seeds", len(episodes), iter((seeds,)))


Parts = Iterator[NDArray[Any]]


def _each(recorded: RecordedEpisodes, episodes: range, stream: str) -> Parts:
    """Episodes of a stream, (T + 1, ...) each."""
    return (recorded.view(stream, episode) for episode in episodes)


def _flat(recorded: RecordedEpisodes, episodes: range, stream: str) -> Parts:
    """The same as vectors, (T + 1, D)."""
    return (part.reshape(len(part), -1) for part in _each(recorded, episodes, stream))


def _padded(recorded: RecordedEpisodes, episodes: range, stream: str) -> Parts:
    """A stream of T rows with a row of zeros at the end, (T + 1, ...)."""
    for part in _each(recorded, episodes, stream):
        yield np.concatenate((part, np.zeros_like(part[:1])))


def _once(recorded: RecordedEpisodes, episodes: range, stream: str) -> Parts:
    """A stream with one entry per episode, (1, ...) each."""
    return (recorded.view(stream, episode)[None] for episode in episodes)
