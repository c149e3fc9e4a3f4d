"""Files and folders that are written at once or not at all."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jostle.core.errors import require


def write_json(path: Path, content: Any) -> None:
    """Write JSON at once or not at all."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write text at once or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def check_new_folder(path: Path) -> None:
    """Refuse a path where there is something already; an empty folder is fine."""
    taken = path.is_symlink() or path.is_file() or (path.is_dir() and any(path.iterdir()))
    require(not taken, f"{path} exists already. Remove it, or choose another --out.")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Fill a folder beside `path` that becomes `path` at the end; errors and Ctrl-C remove it."""
    check_new_folder(path)
    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
    missing = [parent for parent in part.parents if not parent.exists()]
    part.mkdir(parents=True)
    try:
        yield part
        part.replace(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        with suppress(OSError):  # something else may be in them by now
            for parent in missing:
                parent.rmdir()
        raise
