"""Writing of frames: a shard is complete or absent, and the manifest is written last."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, FramesError, require
from jostle.frames.array_files import ArrayFile as ArrayFile
from jostle.frames.array_files import ShardFiles, Streams, lock_folder, remove_leftovers
from jostle.frames.manifest import MANIFEST_NAME, Layout, Manifest, Shard, plain

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


class FrameFolder:
    """A folder to which one process at a time adds shards."""

    def __init__(self, path: Path, layout: Layout) -> None:
        """Open or create; frames of another layout are refused."""
        self.path = path
        self._lock = lock_folder(path, "collecting")
        try:
            self.manifest = self._read(layout)
        except BaseException:
            self._lock.close()
            raise
        remove_leftovers(path, len(self.manifest.shards))

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
        self._files = ShardFiles(folder.path, len(folder.manifest.shards), streams)

    def append(self, stream: str, rows: NDArray[Any]) -> None:
        """Append rows to a stream."""
        self._files.append(stream, rows)

    def finish(self, collection: int, first_episode: int, episodes: int, scenes: int) -> None:
        """Commit the files, then add the shard to the manifest."""
        shard = Shard(
            collection=collection, first_episode=first_episode, episodes=episodes,
            scenes=scenes, files=self._files.commit(),
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
        self._files.abort(error)
