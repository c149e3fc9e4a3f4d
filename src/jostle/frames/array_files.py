"""The .npy files of a shard: streamed, hashed, and all committed together or not at all."""

import contextlib
import errno
import fcntl
import hashlib
import os
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from jostle.core.errors import FramesError
from jostle.frames.manifest import FileEntry

Streams = dict[str, tuple[np.dtype[Any], tuple[int, ...], int]]
"""Per stream: dtype, shape of a row, number of rows."""


def lock_folder(path: Path, doing: str) -> TextIO:
    """Create a folder and keep other processes from writing to it until the file is closed."""
    path.mkdir(parents=True, exist_ok=True)
    lock = (path / ".lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise FramesError(
            f"Another process is {doing} into {path}. Wait, or choose another folder."
        ) from error
    return lock


def shard_prefix(number: int) -> str:
    """How the names of a shard's files begin."""
    return f"{number:05d}"


def remove_leftovers(path: Path, number: int) -> None:
    """Delete what a killed process leaves: temporary files, or the next shard, `number`."""
    for leftover in (*path.glob(".*.npy.part"), *path.glob(f"{shard_prefix(number)}-*.npy")):
        leftover.unlink()


class ArrayFile:
    """A .npy file written row by row and hashed, under a temporary name until it is committed.

    Written as a stream instead of a memory map: a full disk is an error then, not a crash.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any], row: tuple[int, ...], rows: int) -> None:
        """Open for `rows` rows of shape `row`."""
        self.path, self._part = path, path.with_name(f".{path.name}.part")
        self._dtype, self._row, self._missing = dtype, row, rows
        self._hash = hashlib.sha256()
        self._file = self._part.open("wb")
        header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": (rows, *row)}
        npy.write_array_header_1_0(self, header)

    def write(self, data: bytes | memoryview) -> None:
        """Write and hash raw bytes."""
        self._hash.update(data)
        self._file.write(data)

    def append(self, rows: NDArray[Any]) -> None:
        """Append rows."""
        assert rows.shape[1:] == self._row, f"rows of {rows.shape[1:]} in a file of {self._row}"
        self._missing -= len(rows)
        if rows.size:
            self.write(np.ascontiguousarray(rows, self._dtype).reshape(-1).view(np.uint8).data)

    def finish(self) -> FileEntry:
        """Sync everything to disk; the file still has its temporary name."""
        assert self._missing == 0, f"{self._missing} rows are missing in {self.path}"
        size = self._file.tell()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return FileEntry(name=self.path.name, sha256=self._hash.hexdigest(), bytes=size)

    def commit(self) -> None:
        """Give the file its final name."""
        self._part.replace(self.path)

    def abort(self) -> None:
        """Delete the file."""
        with contextlib.suppress(OSError):  # closing flushes, which fails again on a full disk
            self._file.close()
        self._part.unlink(missing_ok=True)


class ShardFiles:
    """One file per stream of an open shard."""

    def __init__(self, folder: Path, number: int, streams: Streams) -> None:
        """Open the files `NUMBER-STREAM.npy` under temporary names."""
        self._folder, self._number = folder, number
        self._files: dict[str, ArrayFile] = {}
        try:
            for stream, (dtype, row, rows) in streams.items():
                path = folder / f"{shard_prefix(number)}-{stream}.npy"
                self._files[stream] = ArrayFile(path, dtype, row, rows)
        except BaseException as error:
            self.abort(error)
            raise

    def append(self, stream: str, rows: NDArray[Any]) -> None:
        """Append rows to a stream."""
        self._files[stream].append(rows)

    def commit(self) -> dict[str, FileEntry]:
        """Sync all files to disk, then give them their final names."""
        entries = {stream: file.finish() for stream, file in self._files.items()}
        for file in self._files.values():
            file.commit()
        return entries

    def abort(self, error: BaseException | None) -> None:
        """Delete what is not committed; if a full disk was the reason, all files, and say so."""
        for file in self._files.values():
            file.abort()
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            for file in self._files.values():  # the manifest could not be written
                file.path.unlink(missing_ok=True)
            raise FramesError(
                f"The disk is full: the open shard in {self._folder} was deleted, the "
                f"{self._number} before it are complete. Free some space and repeat the same "
                "command."
            ) from error
