"""Sets of scenes that a recipe names, each in its own folder; missing ones are collected."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from jostle.cli.collect import collect_with_bar
from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, require
from jostle.rollout.collection import Collection
from jostle.rollout.snapshots import Pace


def collect_scenes(recipe: Path, out: Path, pace: Pace) -> list[Path]:
    """Bring all folders of a recipe to their number of frames; gives the folders in its order."""
    frames, wanted = read_scenes(recipe)
    for name, collection in wanted.items():
        collect_with_bar(collection, frames, out / name, pace)
    return [out / name for name in wanted]


def read_scenes(path: Path) -> tuple[int, dict[str, Collection]]:
    """Read how many frames of which collections a recipe wants, by the name of their folder."""
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text())
        rows = [{"seed": found["seed"], **row} for row in found["scenes"]]
        frames, names = int(found["frames"]), [str(row.pop("name")) for row in rows]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise BadValueError(
            f"{path} is no recipe of scenes ({type(error).__name__}: {error}). It needs frames, "
            "seed and [[scenes]] with a name each."
        ) from error
    require(len(set(names)) == len(names), f"Two scenes of {path} have one name: {names}.")
    return frames, dict(zip(names, map(_collection, rows), strict=True))


def _collection(row: dict[str, Any]) -> Collection:
    known = [field.name for field in fields(Collection)]
    for key in row:
        require(key in known, f"Scenes have no option '{key}'. {suggest(key, known)}")
    require("task" in row, "Scenes need a task.")
    several = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return Collection(**{**row, **several})
