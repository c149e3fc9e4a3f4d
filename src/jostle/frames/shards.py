"""Writing frames: a shard appears whole or not at all, and the manifest comes last."""

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
from jostle.frames.manifest import NAME, FileEntry, Layout, Manifest, Shard, plain

SCENE = np.dtype([("episode", "<i8"), ("step", "<i4")])
"""What the stream `scenes` tells of each scene: its episode within the collection, its moment."""


def truth_dtype(views: int, objects: int) -> np.dtype[Any]:
    """One row of the stream `truth`; objects that are not there are all zeros, color -1."""
    return np.dtype(
        [
            ("scene", "<i8"),  # index within the shard
            ("present", "?", (objects,)),
            ("position", "<f4", (objects, 3)),  # x, y and height of the center above the table
            ("color", "<i2", (objects,)),  # index in the manifest's palette
            ("rgb", "<f4", (objects, 3)),
            ("seen", "<i4", (views, objects)),  # pixels that show the object
            ("whole", "<i4", (views, objects)),  # pixels it would fill if nothing hid it
        ]
    )


class ArrayFile:
    """A .npy file written row by row, hashed on the way, under a temporary name until it is whole.

    Written as a stream and not through a memory map: on a full disk that is an error, not a crash.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any], row: tuple[int, ...], rows: int) -> None:
        """Open for `rows` rows of shape `row`."""
        self.path, self._part = path, path.with_name(f".{path.name}.part")
        self._dtype, self._row, self._missing = dtype, row, rows
        self._hash = hashlib.sha256()
        self._file = self._part.open("wb")
        head = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": (rows, *row)}
        npy.write_array_header_1_0(self, head)

    def write(self, data: bytes | memoryview) -> None:
        """Write and hash raw bytes."""
        self._hash.update(data)
        self._file.write(data)

    def append(self, rows: NDArray[Any]) -> None:
        """Add some rows."""
        assert rows.shape[1:] == self._row, f"rows of {rows.shape[1:]} in a file of {self._row}"
        self._missing -= len(rows)
        if rows.size:
            self.write(np.ascontiguousarray(rows, self._dtype).reshape(-1).view(np.uint8).data)

    def finish(self) -> FileEntry:
        """Push everything to the disk; the file still has its temporary name."""
        assert self._missing == 0, f"{self._missing} rows are missing in {self.path}"
        size = self._file.tell()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return FileEntry(name=self.path.name, sha256=self._hash.hexdigest(), bytes=size)

    def reveal(self) -> None:
        """Take the final name."""
        self._part.replace(self.path)

    def discard(self) -> None:
        """Leave no trace."""
        with contextlib.suppress(OSError):  # closing flushes, which a full disk refuses again
            self._file.close()
        self._part.unlink(missing_ok=True)


class FrameFolder:
    """A folder that one process at a time adds shards to."""

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
                f"Someone else is collecting into {path}. Wait, or choose another folder."
            ) from error
        try:
            self.manifest = self._read(layout)
        except BaseException:
            self._lock.close()
            raise
        # A kill leaves temporary files, or one whole shard that the manifest never heard of.
        for left in (*path.glob(".*.npy.part"), *path.glob(f"{self.next_shard}-*.npy")):
            left.unlink()

    @property
    def next_shard(self) -> str:
        """What the file names of the next shard begin with."""
        return f"{len(self.manifest.shards):05d}"

    def _read(self, layout: Layout) -> Manifest:
        if not (self.path / NAME).exists():
            if any(self.path.glob("00001-*.npy")):
                raise FramesError(
                    f"{self.path} holds shards, but its {NAME} is lost. Choose another folder."
                )
            return Manifest(layout=layout)
        found = Manifest.read(self.path)
        if found.layout != layout:
            raise BadValueError(
                f"{self.path} holds frames from {found.layout.words()}; {layout.words()} do not "
                "fit in. Choose another folder."
            )
        return found

    def __enter__(self) -> "FrameFolder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.close()

    def begin(
        self,
        asked: Mapping[str, Any],
        truth: Mapping[str, Any],
        palette: list[tuple[float, float, float]],
        made_by: Mapping[str, Any],
    ) -> int:
        """Find or add a collection, and return its index.

        Args:
            asked: Everything that decides which frames there are, as JSON.
            truth: Which truth goes with them; must not change within a collection.
            palette: Colors its objects may have.
            made_by: Versions and the like; kept, but not compared.
        """
        asked, truth, made_by = plain(asked), plain(truth), plain(made_by)
        for index, known in enumerate(self.manifest.collections):
            if known["asked"] == asked:
                before = ", ".join(f"{word}={value}" for word, value in known["truth"].items())
                require(
                    known["truth"] == truth,
                    f"The same frames were begun in {self.path} with {before}. Go on with that, "
                    "or take another seed or folder.",
                )
                return index
        entry = {"asked": asked, "truth": truth, "made_by": made_by}
        fresh = [color for color in palette if color not in self.manifest.palette]
        self.manifest = replace(
            self.manifest,
            collections=(*self.manifest.collections, entry),
            palette=(*self.manifest.palette, *dict.fromkeys(fresh)),
        )
        return len(self.manifest.collections) - 1

    def episodes(self, collection: int) -> int:
        """How many episodes of a collection are safely here."""
        return sum(one.episodes for one in self.manifest.shards if one.collection == collection)

    def open_shard(self, rows: Mapping[str, tuple[np.dtype[Any], tuple[int, ...], int]]) -> "Pen":
        """Begin a shard; `rows` gives dtype, shape of a row and number of rows per stream."""
        return Pen(self, rows)


class Pen:
    """Writes one shard. Leaving its `with` block before `finish` discards it."""

    def __init__(
        self,
        folder: FrameFolder,
        rows: Mapping[str, tuple[np.dtype[Any], tuple[int, ...], int]],
    ) -> None:
        """Open a file per stream."""
        self._folder, self._done = folder, False
        self._files: dict[str, ArrayFile] = {}
        with contextlib.ExitStack() as stack:
            stack.push(self.__exit__)
            for stream, (dtype, row, count) in rows.items():
                path = folder.path / f"{folder.next_shard}-{stream}.npy"
                self._files[stream] = ArrayFile(path, dtype, row, count)
            stack.pop_all()

    def append(self, stream: str, rows: NDArray[Any]) -> None:
        """Add rows to a stream."""
        self._files[stream].append(rows)

    def finish(self, collection: int, first_episode: int, episodes: int, scenes: int) -> None:
        """Reveal the shard, then tell the manifest."""
        entries = {stream: one.finish() for stream, one in self._files.items()}
        for one in self._files.values():
            one.reveal()
        shard = Shard(
            collection=collection, first_episode=first_episode, episodes=episodes,
            scenes=scenes, files=entries,
        )  # fmt: skip
        longer = replace(self._folder.manifest, shards=(*self._folder.manifest.shards, shard))
        longer.write(self._folder.path)
        self._folder.manifest = longer
        self._done = True

    def __enter__(self) -> "Pen":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._done:
            return
        for one in self._files.values():
            one.discard()
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FramesError(
                f"The disk is full: the open shard in {self._folder.path} was dropped, the "
                f"{len(self._folder.manifest.shards)} before it are complete. Make room and "
                "repeat the same command."
            ) from error
