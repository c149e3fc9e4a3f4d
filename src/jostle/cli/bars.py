"""Progress: bars on a terminal, plain lines in files and pipes, neither with --quiet."""

import sys
from typing import Any

from tqdm import tqdm

_settings = {"quiet": False}


def set_quiet(quiet: bool) -> None:
    """Switch bars and lines of this process off or on."""
    _settings["quiet"] = quiet


def progress_bar(total: int, unit: str, title: str | None = None, done: int = 0) -> Any:
    """A bar on standard error; it is not shown where that is no terminal."""
    disable = True if _settings["quiet"] else None
    return tqdm(total=total, unit=unit, desc=title, initial=done, disable=disable)


def print_progress(line: str) -> None:
    """Print a line of progress above the bar, at once also into files."""
    if not _settings["quiet"]:
        tqdm.write(line)
        sys.stdout.flush()
