"""Scores that were once measured: kept beside a table, so that only what is new is played."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jostle.core.errors import BadValueError

_KEY = ("weights", "task", "wanted_objects", "colors", "episodes")


def digest(weights: Path) -> str:
    """Name weights by what they are, whatever they are called."""
    return hashlib.sha256(weights.read_bytes()).hexdigest()[:12]


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes two rows the same measurement."""
    return tuple(row[name] for name in _KEY)


def read_scores(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows that a table has measured before; none if there is no such file."""
    if not path.is_file():
        return {}
    try:
        return {key(row): row for row in json.loads(path.read_text())["rows"]}
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise BadValueError(
            f"{path} holds no scores of a table ({error}). Move it away, or play all rows anew "
            "with --afresh."
        ) from error


def write_scores(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Keep rows for the next time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": list(rows)}, indent=1) + "\n")
