"""One kind of file over all shards, as a single long array that stays on the disk."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import FramesError, require
from jostle.frames.manifest import FileEntry, Manifest, digest

_CURE = "Collect again into an empty folder."


class Stream:
    """Rows of one stream, read through memory maps; only what is asked for enters memory."""

    def __init__(self, folder: Path, manifest: Manifest, name: str) -> None:
        """Open every shard that has this stream; sizes are checked, hashes are not."""
        self.shards = [number for number, one in enumerate(manifest.shards) if name in one.files]
        files = [manifest.shards[number].files[name] for number in self.shards]
        self._maps = [_open(folder, one) for one in files]
        self.lengths = np.array([len(one) for one in self._maps], np.int64)
        self._ends = np.cumsum(self.lengths)

    def __len__(self) -> int:
        """Count the rows."""
        return int(self.lengths.sum())

    @property
    def maps(self) -> list[NDArray[Any]]:
        """The shards' arrays, in order."""
        return list(self._maps)

    def pieces(self, indices: Any) -> tuple[NDArray[np.int64], list[tuple[Any, NDArray[Any]]]]:
        """Find rows.

        Returns:
            The checked indices (B,), and for each shard concerned: where in the answer its rows
            go, and the rows themselves.
        """
        wanted = np.atleast_1d(np.asarray(indices))
        require(
            wanted.ndim == 1 and (np.issubdtype(wanted.dtype, np.integer) or not wanted.size),
            f"Rows are asked for by a list of whole numbers, not by {wanted.dtype} {wanted.shape}.",
        )
        wanted = wanted.astype(np.int64)
        require(
            bool(((wanted >= 0) & (wanted < len(self))).all()),
            f"There are {len(self)} rows, numbered from 0; some of those asked for are beyond.",
        )
        which = np.searchsorted(self._ends, wanted, side="right")
        starts = self._ends - self.lengths
        found = []
        for shard in np.unique(which).tolist():
            where = np.flatnonzero(which == shard)
            found.append((where, self._maps[shard][wanted[where] - starts[shard]]))
        return wanted, found


def verify(folder: Path, manifest: Manifest) -> None:
    """Read every file and compare its hash with the manifest's."""
    for shard in manifest.shards:
        for entry in shard.files.values():
            _check_size(folder, entry)
            if digest(folder / entry.name) != entry.sha256:
                raise FramesError(
                    f"{folder / entry.name} is damaged: its hash is not the manifest's. {_CURE}"
                )


def _check_size(folder: Path, entry: FileEntry) -> None:
    path = folder / entry.name
    if not path.is_file():
        raise FramesError(f"{path} is missing, though the manifest names it. {_CURE}")
    size = path.stat().st_size
    if size != entry.bytes:
        raise FramesError(f"{path} has {size} bytes instead of {entry.bytes}. {_CURE}")


def _open(folder: Path, entry: FileEntry) -> NDArray[Any]:
    _check_size(folder, entry)
    try:
        found: NDArray[Any] = np.load(folder / entry.name, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise FramesError(f"{folder / entry.name} cannot be read ({error}). {_CURE}") from error
    return found
