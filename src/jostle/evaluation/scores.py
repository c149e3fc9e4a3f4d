"""Cache of evaluation results beside a table, so that only new rows are evaluated."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jostle.core.errors import BadValueError
from jostle.core.files import write_text

_KEY = ("weights", "task", "requested_objects", "colors", "episodes", "episode_set")


def digest(weights: Path) -> str:
    """Content hash of a weights file, independent of its name."""
    return hashlib.sha256(weights.read_bytes()).hexdigest()[:12]


def cache_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Key under which a row is cached: rows with equal keys are the same measurement."""
    values = (row[name] for name in _KEY)
    return tuple(tuple(value) if type(value) is list else value for value in values)


def read_scores(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Read cached rows by their keys; none if there is no such file."""
    if not path.is_file():
        return {}
    try:
        return {cache_key(row): row for row in json.loads(path.read_text())["rows"]}
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise BadValueError(
            f"{path} is not a results cache ({error}). Move it away, or evaluate all rows again "
            "with --no-cache."
        ) from error


def write_scores(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows to the cache, all of them or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps({"rows": list(rows)}, indent=1) + "\n")
