"""Reading of frames: all shards of a folder as one array on disk. Needs only numpy."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import FramesError
from jostle.frames.batches import Indices, ShuffledBatches, validation_mask
from jostle.frames.manifest import Layout, Manifest
from jostle.frames.streams import Stream, verify


@dataclass(frozen=True)
class FrameBatch:
    """Some scenes."""

    scenes: Indices
    """Their indices, (B,)."""
    frames: NDArray[np.uint8]
    """Their frames, (B, V, H, W, 3)."""


class Frames:
    """The scenes of a folder; a scene is one step, rendered from all cameras."""

    def __init__(self, folder: str | Path, size: tuple[int, int] | None = None) -> None:
        """Open a folder that `jostle collect` made.

        Args:
            folder: Where the frames are.
            size: Required height and width of the frames; any by default.
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
            raise FramesError(f"{self.folder} has no scenes yet. Repeat the 'jostle collect'.")
        self._frames = Stream(self.folder, self.manifest, "frames")
        self._check_shapes()
        self.collections, self.episodes, self.steps = self._read_scenes()

    @property
    def layout(self) -> Layout:
        """Cameras and size."""
        return self.manifest.layout

    def __len__(self) -> int:
        """Count the scenes; each has one frame per camera."""
        return len(self._frames)

    def batch(self, indices: Any) -> NDArray[np.uint8]:
        """Read scenes by index, (B, V, H, W, 3)."""
        checked, parts = self._frames.read(indices)
        frames = np.empty((len(checked), *self.layout.shape), np.uint8)
        for where, rows in parts:
            frames[where] = rows
        return frames

    def split(self, validation: float = 0.1, seed: int = 0) -> tuple[Indices, Indices]:
        """Split the scenes into training and validation, by whole episodes.

        An episode stays on its side when the folder grows.
        """
        held_out = validation_mask(self.episodes, validation, seed)
        return np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def batches(
        self, size: int, indices: Indices | None = None, seed: int = 0, position: int = 0
    ) -> Iterator[FrameBatch]:
        """Read endless shuffled batches, starting after the first `position` of them.

        Args:
            size: Scenes per batch.
            indices: Which scenes, e.g. one side of `split()`; all by default.
            seed: Seed of the order.
            position: Number of batches that were read before, to resume a run.
        """
        scenes = np.arange(len(self)) if indices is None else indices
        order = ShuffledBatches(scenes, size, seed, position)
        return (FrameBatch(batch, self.batch(batch)) for batch in order)

    def verify(self) -> None:
        """Compare every file with its hash; raises `FramesError` at the first difference."""
        verify(self.folder, self.manifest)

    def _check_shapes(self) -> None:
        shards = self.manifest.shards
        for number, array in zip(self._frames.shards, self._frames.maps, strict=True):
            expected = (shards[number].scenes, *self.layout.shape)
            if array.shape != expected or array.dtype != np.uint8:
                raise FramesError(
                    f"Shard {number} in {self.folder} has {array.dtype} frames of shape "
                    f"{array.shape} instead of uint8 {expected}. Collect again into an empty "
                    "folder."
                )

    def _read_scenes(self) -> tuple[Indices, Indices, Indices]:
        """Collection, episode within it and step of each scene, (S,) each."""
        stream = Stream(self.folder, self.manifest, "scenes")
        owners = [self.manifest.shards[number].collection for number in stream.shards]
        collections = np.repeat(np.array(owners, np.int64), stream.lengths)
        episodes = np.concatenate([rows["episode"] for rows in stream.maps]).astype(np.int64)
        steps = np.concatenate([rows["step"] for rows in stream.maps]).astype(np.int64)
        if len(self._frames) != len(episodes):
            raise FramesError(
                f"{self.folder} has the frames of {len(self._frames)} scenes, but episode and step "
                f"of {len(episodes)}. Collect again into an empty folder."
            )
        return collections, episodes, steps
