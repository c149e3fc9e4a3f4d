"""One kind of file over all shards, as a single long array that stays on disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import FramesError, require
from jostle.frames.manifest import FileEntry, file_hash

_HINT = "Collect again into an empty folder."


class HasFiles(Protocol):
    """A shard."""

    @property
    def files(self) -> Mapping[str, FileEntry]:
        """Its files by stream."""
        ...


class HasShards(Protocol):
    """A manifest."""

    @property
    def shards(self) -> Sequence[HasFiles]:
        """Its shards in order."""
        ...


class Stream:
    """Rows of one stream, read through memory maps; only requested rows enter memory."""

    def __init__(self, folder: Path, manifest: HasShards, name: str, hint: str = _HINT) -> None:
        """Open every shard that has this stream; sizes are checked, hashes are not.

        `hint` says what to do about damaged files.
        """
        shards = manifest.shards
        self.shards = [number for number, shard in enumerate(shards) if name in shard.files]
        self._maps = [_open(folder, shards[number].files[name], hint) for number in self.shards]
        self.lengths = np.array([len(array) for array in self._maps], np.int64)
        self._ends = np.cumsum(self.lengths)

    def __len__(self) -> int:
        """Count the rows."""
        return int(self.lengths.sum())

    @property
    def maps(self) -> list[NDArray[Any]]:
        """The shards' arrays, in order."""
        return list(self._maps)

    def row(self, index: int) -> NDArray[Any]:
        """One row on disk, by its index."""
        shard = int(np.searchsorted(self._ends, index, side="right"))
        row: NDArray[Any] = self._maps[shard][index - (self._ends - self.lengths)[shard]]
        return row

    def read(self, indices: Any) -> tuple[NDArray[np.int64], list[tuple[Any, NDArray[Any]]]]:
        """Read rows by index.

        Returns:
            The checked indices (B,), and for each shard concerned: where in the result its rows
            go, and the rows themselves.
        """
        requested = np.atleast_1d(np.asarray(indices))
        integers = np.issubdtype(requested.dtype, np.integer) or not requested.size
        require(
            requested.ndim == 1 and integers,
            f"Indices are a list of integers, not {requested.dtype} of shape {requested.shape}.",
        )
        requested = requested.astype(np.int64)
        require(
            bool(((requested >= 0) & (requested < len(self))).all()),
            f"There are {len(self)} rows, numbered from 0; some indices are out of range.",
        )
        owner = np.searchsorted(self._ends, requested, side="right")
        starts = self._ends - self.lengths
        parts = []
        for shard in np.unique(owner).tolist():
            where = np.flatnonzero(owner == shard)
            parts.append((where, self._maps[shard][requested[where] - starts[shard]]))
        return requested, parts


def verify(folder: Path, manifest: HasShards, hint: str = _HINT) -> None:
    """Read every file and compare its hash with the manifest's."""
    for shard in manifest.shards:
        for entry in shard.files.values():
            _check_size(folder, entry, hint)
            if file_hash(folder / entry.name) != entry.sha256:
                raise FramesError(
                    f"{folder / entry.name} is damaged: its hash is not the manifest's. {hint}"
                )


def _check_size(folder: Path, entry: FileEntry, hint: str) -> None:
    path = folder / entry.name
    if not path.is_file():
        raise FramesError(f"{path} is missing, though the manifest lists it. {hint}")
    size = path.stat().st_size
    if size != entry.bytes:
        raise FramesError(f"{path} has {size} bytes instead of {entry.bytes}. {hint}")


def _open(folder: Path, entry: FileEntry, hint: str) -> NDArray[Any]:
    _check_size(folder, entry, hint)
    try:
        array: NDArray[Any] = np.load(folder / entry.name, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise FramesError(f"{folder / entry.name} cannot be read ({error}). {hint}") from error
    return array
