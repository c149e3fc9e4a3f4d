"""Checksums of weights files: of a file's content inside it, and of whole files beside them."""

import hashlib
import json
from pathlib import Path

from jostle.core.errors import BadValueError, CheckpointError
from jostle.core.files import write_json

LIST = "checksums.json"
"""A file with the checksums of other files in its folder, by their names."""


def file_checksum(path: Path) -> str:
    """SHA-256 of a whole file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_checksums(folder: Path) -> dict[str, str]:
    """Listed checksums of a folder's files, by name; empty without a list."""
    path = folder / LIST
    if not path.is_file():
        return {}
    try:
        listed = json.loads(path.read_text())
    except ValueError as error:
        raise BadValueError(f"{path} is damaged: {error}.") from error
    return dict(listed)


def record_checksum(path: Path) -> None:
    """List a file with its present checksum."""
    listed = read_checksums(path.parent) | {path.name: file_checksum(path)}
    write_json(path.parent / LIST, dict(sorted(listed.items())))


def forget_checksum(path: Path) -> None:
    """Take a file off the list."""
    listed = read_checksums(path.parent)
    if listed.pop(path.name, None) is not None:
        write_json(path.parent / LIST, listed)


def verify_file(path: Path) -> bool:
    """Compare a file with its listed checksum.

    Returns:
        Whether the file is listed.

    Raises:
        CheckpointError: The file has another checksum.
    """
    listed = read_checksums(path.parent).get(path.name)
    if listed is not None and listed != file_checksum(path):
        raise damaged(path)
    return listed is not None


def damaged(path: Path) -> CheckpointError:
    """The error for a file whose content has changed since it was written."""
    return CheckpointError(
        f"{path} is damaged (its content does not match its checksum): bring it back from a copy, "
        "or make it again."
    )
