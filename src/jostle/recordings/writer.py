"""Writing of recordings: a shard is complete or absent, and the manifest is written last."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import numpy as np

from jostle.core.errors import BadValueError, FramesError
from jostle.frames.array_files import ShardFiles, Streams, lock_folder, remove_leftovers
from jostle.frames.manifest import MANIFEST_NAME, plain
from jostle.recordings.manifest import EPISODE, RecordedShard, RecordingManifest


class RecordingFolder:
    """A folder to which one process at a time adds shards of one recording."""

    def __init__(self, path: Path, manifest: RecordingManifest) -> None:
        """Open or create; `manifest` says what is recorded, and another recording is refused."""
        self.path = path
        self._lock = lock_folder(path, "recording")
        try:
            self.manifest = self._read(manifest)
            remove_leftovers(path, len(self.manifest.shards))
        except BaseException:
            self._lock.close()
            raise

    def _read(self, manifest: RecordingManifest) -> RecordingManifest:
        """The manifest that is there already, or the new one."""
        if not (self.path / MANIFEST_NAME).exists():
            if any(self.path.glob("00001-*.npy")):
                raise FramesError(
                    f"{self.path} has shards, but its {MANIFEST_NAME} is lost. Choose another "
                    "folder."
                )
            return manifest
        stored = RecordingManifest.read(self.path)
        wanted = plain(manifest.identity)
        for key in sorted({*stored.identity, *wanted}):
            before, now = stored.identity.get(key), wanted.get(key)
            if before != now:
                raise BadValueError(
                    f"{self.path} holds another recording: its {key} is {before}, not {now}. "
                    "Choose another folder, or repeat its own command."
                )
        return stored

    def __enter__(self) -> "RecordingFolder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.close()

    @contextlib.contextmanager
    def open_shard(self, episodes: int) -> Iterator[ShardFiles]:
        """Open a shard for the next episodes; after an error nothing of it is left.

        Every stream of the manifest, and the table `episodes`, gets one row per episode.
        """
        manifest = self.manifest
        streams: Streams = {
            name: (np.dtype(spec.dtype), spec.shape, episodes)
            for name, spec in manifest.streams.items()
        }
        streams["episodes"] = (EPISODE, (), episodes)
        files = ShardFiles(self.path, len(manifest.shards), streams)
        try:
            yield files
            entries = files.commit()
            shard = RecordedShard(first_episode=manifest.episodes, episodes=episodes, files=entries)
            longer = replace(manifest, shards=(*manifest.shards, shard))
            longer.write(self.path)
        except BaseException as error:
            files.abort(error)
            raise
        self.manifest = longer
