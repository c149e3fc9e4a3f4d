"""Writing of frames: a shard is complete or absent, and the manifest is written last."""

import contextlib
import errno
import fcntl
import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, FramesError, require
from jostle.frames.manifest import MANIFEST_NAME, FileEntry, Layout, Manifest, Shard, plain

Streams = dict[str, tuple[np.dtype[Any], tuple[int, ...], int]]
"""Per stream: dtype, shape of a row, number of rows."""
SCENE = np.dtype([("episode", "<i8"), ("step", "<i4")])
"""One row of the stream `scenes`: the scene's episode within the collection, and its step."""


def truth_dtype(views: int, objects: int) -> np.dtype[Any]:
    """One row of the stream `truth`; absent objects are zeros, with color -1.

    The names of the fields are part of the file format.
    """
    return np.dtype(
        [
            ("scene", "<i8"),  # index within the shard
            ("present", "?", (objects,)),
            ("position", "<f4", (objects, 3)),  # x, y and height of the center above the table
            ("color", "<i2", (objects,)),  # index in the manifest's palette
            ("rgb", "<f4", (objects, 3)),
            ("seen", "<i4", (views, objects)),  # visible pixels
            ("whole", "<i4", (views, objects)),  # pixels if nothing occluded the object
        ]
    )


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


class FrameFolder:
    """A folder to which one process at a time adds shards."""

    def __init__(self, path: Path, layout: Layout) -> None:
        """Open or create; frames of another layout are refused."""
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._lock = (path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise FramesError(
                f"Another process is collecting into {path}. Wait, or choose another folder."
            ) from error
        try:
            self.manifest = self._read(layout)
        except BaseException:
            self._lock.close()
            raise
        # A killed process leaves temporary files, or a shard that is not in the manifest.
        for leftover in (*path.glob(".*.npy.part"), *path.glob(f"{self.next_shard}-*.npy")):
            leftover.unlink()

    @property
    def next_shard(self) -> str:
        """Prefix of the file names of the next shard."""
        return f"{len(self.manifest.shards):05d}"

    def _read(self, layout: Layout) -> Manifest:
        if not (self.path / MANIFEST_NAME).exists():
            if any(self.path.glob("00001-*.npy")):
                raise FramesError(
                    f"{self.path} has shards, but its {MANIFEST_NAME} is lost. Choose another "
                    "folder."
                )
            return Manifest(layout=layout)
        manifest = Manifest.read(self.path)
        if manifest.layout != layout:
            raise BadValueError(
                f"{self.path} has frames from {manifest.layout.describe()}, not from "
                f"{layout.describe()}. Choose another folder."
            )
        return manifest

    def __enter__(self) -> "FrameFolder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.close()

    def add_collection(
        self,
        identity: Mapping[str, Any],
        truth: Mapping[str, Any],
        palette: list[tuple[float, float, float]],
        made_by: Mapping[str, Any],
    ) -> int:
        """Find the collection with this identity, or add it; returns its index.

        Args:
            identity: Everything that determines the frames, as JSON.
            truth: Which ground truth is stored; must not change within a collection.
            palette: Colors that its objects may have.
            made_by: Versions and other provenance; stored, but not compared.
        """
        identity, truth, made_by = plain(identity), plain(truth), plain(made_by)
        for index, collection in enumerate(self.manifest.collections):
            if collection["asked"] == identity:
                before = ", ".join(f"{key}={value}" for key, value in collection["truth"].items())
                require(
                    collection["truth"] == truth,
                    f"The same frames were collected into {self.path} with {before}. Continue with "
                    "that, or use another seed or folder.",
                )
                return index
        entry = {"asked": identity, "truth": truth, "made_by": made_by}  # keys of the file format
        new_colors = [color for color in palette if color not in self.manifest.palette]
        self.manifest = replace(
            self.manifest,
            collections=(*self.manifest.collections, entry),
            palette=(*self.manifest.palette, *dict.fromkeys(new_colors)),
        )
        return len(self.manifest.collections) - 1

    def episodes(self, collection: int) -> int:
        """Number of complete episodes of a collection."""
        shards = self.manifest.shards
        return sum(shard.episodes for shard in shards if shard.collection == collection)

    def open_shard(self, streams: Streams) -> "ShardWriter":
        """Start a shard with these streams."""
        return ShardWriter(self, streams)


class ShardWriter:
    """Writes one shard. Leaving its `with` block before `finish` deletes it."""

    def __init__(self, folder: FrameFolder, streams: Streams) -> None:
        """Open a file per stream."""
        self._folder, self._finished = folder, False
        self._files: dict[str, ArrayFile] = {}
        with contextlib.ExitStack() as stack:
            stack.push(self.__exit__)
            for stream, (dtype, row, rows) in streams.items():
                path = folder.path / f"{folder.next_shard}-{stream}.npy"
                self._files[stream] = ArrayFile(path, dtype, row, rows)
            stack.pop_all()

    def append(self, stream: str, rows: NDArray[Any]) -> None:
        """Append rows to a stream."""
        self._files[stream].append(rows)

    def finish(self, collection: int, first_episode: int, episodes: int, scenes: int) -> None:
        """Commit the files, then add the shard to the manifest."""
        entries = {stream: file.finish() for stream, file in self._files.items()}
        for file in self._files.values():
            file.commit()
        shard = Shard(
            collection=collection, first_episode=first_episode, episodes=episodes,
            scenes=scenes, files=entries,
        )  # fmt: skip
        manifest = replace(self._folder.manifest, shards=(*self._folder.manifest.shards, shard))
        manifest.write(self._folder.path)
        self._folder.manifest = manifest
        self._finished = True

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._finished:
            return
        for file in self._files.values():
            file.abort()
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FramesError(
                f"The disk is full: the open shard in {self._folder.path} was deleted, the "
                f"{len(self._folder.manifest.shards)} before it are complete. Free some space and "
                "repeat the same command."
            ) from error
