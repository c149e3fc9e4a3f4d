"""Checks of the values that users give: each raises `BadValueError` with one sentence."""

import math
import os
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from jostle.core.errors import require


def check_int(name: str, value: Any, low: int) -> None:
    """Require a whole number that is `low` or more."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    require(whole, f"{name} must be a whole number, not {value!r}.")
    require(value >= low, f"{name} must be at least {low}, not {value}.")


def check_number(
    name: str, value: Any, low: float | None = None, above: float | None = None
) -> None:
    """Require a finite number, if asked for one of at least `low` or of more than `above`."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    require(number, f"{name} must be a number, not {value!r}.")
    require(math.isfinite(value), f"{name} must be finite, not {value}.")
    require(low is None or value >= low, f"{name} must be at least {low}, not {value}.")
    require(above is None or value > above, f"{name} must be more than {above}, not {value}.")


def check_minutes(minutes: Any) -> None:
    """Require a time limit that leaves time; None is no limit."""
    if minutes is not None:
        check_number("minutes", minutes, above=0)


def check_folder_name(name: str, value: Any) -> None:
    """Require the name of one folder or file, which cannot lead out of the folder it is in."""
    plain = isinstance(value, str) and value not in ("", ".", "..")
    require(
        plain and not any(character in value for character in "/\\\0"),
        f"{name} must be the name of one folder without slashes, not {value!r}: choose where it "
        "lies with out.",
    )


def check_output(path: Path, folder: bool = False) -> None:
    """Require a path where a file, or a folder, can be written: before the work, not after it."""
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    fits = nearest.is_dir() if folder or nearest != path else not nearest.is_dir()
    kind = "a folder" if nearest.is_dir() else "a file"
    require(fits, f"{path} cannot be written: {nearest} is {kind}. Choose another --out.")
    require(
        os.access(nearest, os.W_OK),
        f"{path} cannot be written: {nearest} is read-only. Choose another --out.",
    )
