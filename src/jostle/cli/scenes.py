"""Frame datasets listed in a .toml file, each in its own folder; missing ones are collected."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from jostle.cli.collect import collect_with_bar
from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, require
from jostle.rollout.frame_collector import CollectOptions
from jostle.rollout.frame_dataset import FrameDatasetSpec


def collect_scenes(path: Path, out: Path, options: CollectOptions) -> list[Path]:
    """Collect the missing frames of all datasets in a file; returns their folders in order."""
    frames, datasets = read_scenes(path)
    for name, dataset in datasets.items():
        collect_with_bar(dataset, frames, out / name, options)
    return [out / name for name in datasets]


def read_scenes(path: Path) -> tuple[int, dict[str, FrameDatasetSpec]]:
    """Read the number of frames per dataset, and the datasets by the names of their folders."""
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text())
        rows = [{"seed": content["seed"], **row} for row in content["scenes"]]
        frames, names = int(content["frames"]), [str(row.pop("name")) for row in rows]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise BadValueError(
            f"{path} is not a list of scenes ({type(error).__name__}: {error}). It needs frames, "
            "seed and [[scenes]] with a name each."
        ) from error
    require(len(set(names)) == len(names), f"Two scenes of {path} have the same name: {names}.")
    return frames, dict(zip(names, map(_dataset, rows), strict=True))


def _dataset(row: dict[str, Any]) -> FrameDatasetSpec:
    options = [field.name for field in fields(FrameDatasetSpec)]
    for key in row:
        require(key in options, f"Scenes have no option '{key}'. {suggest(key, options)}")
    require("task" in row, "Scenes need a task.")
    tuples = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return FrameDatasetSpec(**{**row, **tuples})
