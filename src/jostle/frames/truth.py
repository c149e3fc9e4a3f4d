"""What the frames truly show: masks, places, colors. For measuring, never for learning."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import FramesError, require
from jostle.frames.batches import Indices
from jostle.frames.manifest import Manifest
from jostle.frames.streams import Stream

ABSENT = -1
"""Number of the color of an object that is not there."""


@dataclass(frozen=True)
class TruthBatch:
    """What some scenes truly show; objects that are not there are zeros."""

    masks: NDArray[np.uint8]
    """What each pixel shows, (B, V, H, W): 0 nothing, 1 the arm, 2 + i the object i."""
    present: NDArray[np.bool_]
    """Which objects are there, (B, N)."""
    positions: NDArray[np.float32]
    """Centers, (B, N, 3): x, y on the table and height above it, in meters."""
    colors: NDArray[np.int16]
    """Index in the folder's palette, (B, N); -1 where nothing is."""
    rgb: NDArray[np.float32]
    """The colors themselves, (B, N, 3), in [0, 1]."""
    seen: NDArray[np.int32]
    """Pixels that show the object, (B, V, N)."""
    whole: NDArray[np.int32]
    """Pixels it would fill in this view if nothing hid it, (B, V, N)."""

    def visible(self, share: float = 0.3) -> NDArray[np.bool_]:
        """Say which objects show at least `share` of their own pixels in a view, (B, V, N)."""
        found: NDArray[np.bool_] = (self.seen > 0) & (self.seen >= share * self.whole)
        return found


class Truth:
    """True masks and places of the scenes of a folder, by the scene indices of `Frames`."""

    def __init__(self, folder: str | Path) -> None:
        """Open the truth beside the frames."""
        self.folder = Path(folder)
        self.manifest = manifest = Manifest.read(self.folder)
        self._masks = Stream(self.folder, manifest, "masks")
        self._rows = Stream(self.folder, manifest, "truth")
        if not len(self._rows):
            raise FramesError(
                f"The frames in {self.folder} were collected without truth. "
                "Collect into another folder without --no-truth."
            )
        counts = [shard.scenes for shard in manifest.shards]
        starts = np.cumsum([0, *counts])[self._rows.shards]
        pairs = zip(starts, self._rows.maps, strict=True)
        self.scenes: Indices = np.concatenate([start + rows["scene"] for start, rows in pairs])
        self.objects = max(one.dtype["present"].shape[0] for one in self._rows.maps)

    @property
    def palette(self) -> NDArray[np.float32]:
        """The colors that color numbers count through, (P, 3)."""
        return np.array(self.manifest.palette, np.float32)

    def __len__(self) -> int:
        """Count the scenes whose truth is known; `scenes` lists them."""
        return len(self.scenes)

    def batch(self, scenes: Any) -> TruthBatch:
        """Read the truth of some scenes, given by their indices in `Frames`."""
        asked = np.atleast_1d(np.asarray(scenes, np.int64))
        rows = np.minimum(np.searchsorted(self.scenes, asked), len(self) - 1)
        missing = asked[self.scenes[rows] != asked]
        require(
            not len(missing),
            f"The truth of scenes {missing[:5].tolist()} was not kept; Truth.scenes lists those "
            "that were.",
        )
        return self._read(rows)

    def _read(self, rows: Indices) -> TruthBatch:
        layout, slots, count = self.manifest.layout, self.objects, len(rows)
        views = layout.views
        found = TruthBatch(
            masks=np.zeros((count, views, *layout.size), np.uint8),
            present=np.zeros((count, slots), bool),
            positions=np.zeros((count, slots, 3), np.float32),
            colors=np.full((count, slots), ABSENT, np.int16),
            rgb=np.zeros((count, slots, 3), np.float32),
            seen=np.zeros((count, views, slots), np.int32),
            whole=np.zeros((count, views, slots), np.int32),
        )
        for where, masks in self._masks.pieces(rows)[1]:
            found.masks[where] = masks
        for where, piece in self._rows.pieces(rows)[1]:
            own = piece.dtype["present"].shape[0]  # a folder may mix numbers of objects
            found.present[where, :own] = piece["present"]
            found.positions[where, :own] = piece["position"]
            found.colors[where, :own] = piece["color"]
            found.rgb[where, :own] = piece["rgb"]
            found.seen[where, :, :own] = piece["seen"]
            found.whole[where, :, :own] = piece["whole"]
        return found
