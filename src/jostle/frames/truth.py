"""Ground truth of frames: masks, positions, colors. For probing, never for training."""

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
"""Color index of an absent object."""


@dataclass(frozen=True)
class TruthBatch:
    """Ground truth of some scenes; absent objects are zeros."""

    masks: NDArray[np.uint8]
    """What each pixel shows, (B, V, H, W): 0 nothing, 1 the arm, 2 + i object i."""
    present: NDArray[np.bool_]
    """Which objects are present, (B, N)."""
    positions: NDArray[np.float32]
    """Centers, (B, N, 3): x, y on the table and height above it, in meters."""
    colors: NDArray[np.int16]
    """Index in the folder's palette, (B, N); -1 for absent objects."""
    rgb: NDArray[np.float32]
    """The colors themselves, (B, N, 3), in [0, 1]."""
    visible_px: NDArray[np.int32]
    """Pixels that show the object, (B, V, N)."""
    unoccluded_px: NDArray[np.int32]
    """Pixels that the object would cover in this view if nothing occluded it, (B, V, N)."""

    def visible(self, fraction: float = 0.3) -> NDArray[np.bool_]:
        """Which objects show at least `fraction` of their own pixels in a view, (B, V, N)."""
        enough = self.visible_px >= fraction * self.unoccluded_px
        visible: NDArray[np.bool_] = (self.visible_px > 0) & enough
        return visible


class Truth:
    """Ground truth of the scenes of a folder, by the scene indices of `Frames`."""

    def __init__(self, folder: str | Path) -> None:
        """Open the ground truth beside the frames."""
        self.folder = Path(folder)
        self.manifest = manifest = Manifest.read(self.folder)
        self._masks = Stream(self.folder, manifest, "masks")
        self._rows = Stream(self.folder, manifest, "truth")
        if not len(self._rows):
            raise FramesError(
                f"The frames in {self.folder} were collected without ground truth. "
                "Collect into another folder without --no-truth."
            )
        counts = [shard.scenes for shard in manifest.shards]
        starts = np.cumsum([0, *counts])[self._rows.shards]
        pairs = zip(starts, self._rows.maps, strict=True)
        self.scenes: Indices = np.concatenate([start + rows["scene"] for start, rows in pairs])
        self.objects = max(rows.dtype["present"].shape[0] for rows in self._rows.maps)

    @property
    def palette(self) -> NDArray[np.float32]:
        """The colors that color indices refer to, (P, 3)."""
        return np.array(self.manifest.palette, np.float32)

    def __len__(self) -> int:
        """Count the scenes with ground truth; `scenes` lists them."""
        return len(self.scenes)

    def batch(self, scenes: Any) -> TruthBatch:
        """Read the ground truth of some scenes, given by their indices in `Frames`."""
        requested = np.atleast_1d(np.asarray(scenes, np.int64))
        rows = np.minimum(np.searchsorted(self.scenes, requested), len(self) - 1)
        missing = requested[self.scenes[rows] != requested]
        require(
            not len(missing),
            f"There is no ground truth of scenes {missing[:5].tolist()}; Truth.scenes lists those "
            "that have it.",
        )
        return self._read(rows)

    def _read(self, rows: Indices) -> TruthBatch:
        layout, objects, count = self.manifest.layout, self.objects, len(rows)
        views = layout.views
        batch = TruthBatch(
            masks=np.zeros((count, views, *layout.size), np.uint8),
            present=np.zeros((count, objects), bool),
            positions=np.zeros((count, objects, 3), np.float32),
            colors=np.full((count, objects), ABSENT, np.int16),
            rgb=np.zeros((count, objects, 3), np.float32),
            visible_px=np.zeros((count, views, objects), np.int32),
            unoccluded_px=np.zeros((count, views, objects), np.int32),
        )
        for where, masks in self._masks.read(rows)[1]:
            batch.masks[where] = masks
        for where, part in self._rows.read(rows)[1]:
            own = part.dtype["present"].shape[0]  # shards may differ in the number of objects
            batch.present[where, :own] = part["present"]
            batch.positions[where, :own] = part["position"]
            batch.colors[where, :own] = part["color"]
            batch.rgb[where, :own] = part["rgb"]
            batch.visible_px[where, :, :own] = part["seen"]
            batch.unoccluded_px[where, :, :own] = part["whole"]
        return batch
