"""Reading frames: all shards as one array on the disk. Needs numpy and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import FramesError
from jostle.frames.batches import Indices, Order, held_out
from jostle.frames.manifest import Layout, Manifest
from jostle.frames.streams import Stream, verify


@dataclass(frozen=True)
class Batch:
    """Some scenes."""

    scenes: Indices
    """Their indices, (B,)."""
    frames: NDArray[np.uint8]
    """Their pictures, (B, V, H, W, 3)."""


class Frames:
    """The scenes of a folder, each one moment seen by all cameras."""

    def __init__(self, folder: str | Path, size: tuple[int, int] | None = None) -> None:
        """Open a folder that `jostle collect` made.

        Args:
            folder: Where the frames are.
            size: Height and width the frames must have, if that matters.
        """
        self.folder = Path(folder)
        self.manifest = Manifest.read(self.folder)
        height, width = self.layout.size
        if size is not None and tuple(size) != self.layout.size:
            raise FramesError(
                f"The frames in {self.folder} are {height} x {width} pixels, not "
                f"{size[0]} x {size[1]}. Collect frames of that size into another folder."
            )
        if not self.manifest.shards:
            raise FramesError(f"{self.folder} holds no scenes yet. Repeat the 'jostle collect'.")
        self._frames = Stream(self.folder, self.manifest, "frames")
        self._check_shapes()
        self.collections, self.episodes, self.steps = self._where()

    @property
    def layout(self) -> Layout:
        """Cameras and size."""
        return self.manifest.layout

    def __len__(self) -> int:
        """Count the scenes; each has a frame per camera."""
        return len(self._frames)

    def batch(self, indices: Any) -> NDArray[np.uint8]:
        """Read some scenes, (B, V, H, W, 3), in the order asked for."""
        wanted, found = self._frames.pieces(indices)
        out = np.empty((len(wanted), *self.layout.shape), np.uint8)
        for where, rows in found:
            out[where] = rows
        return out

    def split(self, validation: float = 0.1, seed: int = 0) -> tuple[Indices, Indices]:
        """Part the scenes into those to train on and those to validate with, by whole episodes.

        An episode keeps its side when the folder grows.
        """
        kept = held_out(self.episodes, validation, seed)
        return np.flatnonzero(~kept), np.flatnonzero(kept)

    def batches(
        self, size: int, indices: Indices | None = None, seed: int = 0, position: int = 0
    ) -> Iterator[Batch]:
        """Read shuffled batches without end, beginning after the first `position` of them.

        Args:
            size: Scenes per batch.
            indices: Which scenes, e.g. one side of `split()`; all by default.
            seed: Which order.
            position: How many batches were read before: the same arguments go on from there.
        """
        several = np.arange(len(self)) if indices is None else indices
        order = Order(several, size, seed, position)
        return (Batch(scenes, self.batch(scenes)) for scenes in order)

    def verify(self) -> None:
        """Compare every file with its hash; raises `FramesError` at the first difference."""
        verify(self.folder, self.manifest)

    def _check_shapes(self) -> None:
        shards = self.manifest.shards
        for number, one in zip(self._frames.shards, self._frames.maps, strict=True):
            wanted = (shards[number].scenes, *self.layout.shape)
            if one.shape != wanted or one.dtype != np.uint8:
                raise FramesError(
                    f"Shard {number} in {self.folder} holds {one.dtype} frames of shape "
                    f"{one.shape} instead of uint8 {wanted}. Collect again into an empty folder."
                )

    def _where(self) -> tuple[Indices, Indices, Indices]:
        """Collection, episode within it and step of each scene, (S,) each."""
        stream = Stream(self.folder, self.manifest, "scenes")
        owners = [self.manifest.shards[number].collection for number in stream.shards]
        rows = stream.maps
        collections = np.repeat(np.array(owners, np.int64), stream.lengths)
        episodes = np.concatenate([one["episode"] for one in rows]).astype(np.int64)
        steps = np.concatenate([one["step"] for one in rows]).astype(np.int64)
        if len(self._frames) != len(episodes):
            raise FramesError(
                f"There are {len(self._frames)} scenes but {len(episodes)} places in episodes in "
                f"{self.folder}. Collect again into an empty folder."
            )
        return collections, episodes, steps
