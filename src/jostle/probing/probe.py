"""Probing an encoder on a folder of frames with ground truth."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.protocols import Encoder
from jostle.frames.batches import Indices
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth
from jostle.probing.detections import Detections, Flags, Floats, encode_dataset
from jostle.probing.ground_truth import GroundTruth, read_ground_truth
from jostle.probing.linear_probes import (
    color_probe,
    jitter,
    mean_guess_errors,
    table_errors,
    vector_table_errors,
)
from jostle.probing.matching import (
    ARM,
    NOTHING,
    OBJECT,
    Assignment,
    below_threshold,
    label_entities,
    match,
    matched_positions,
)
from jostle.probing.metrics import EncoderMetrics, mean, median, percentile
from jostle.scene.colors import COLORS

EntityKind = Literal["particles", "slots", "vector"]


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """Metrics of one encoder on one folder."""

    name: str
    """Name of the folder."""
    kind: EntityKind
    """What the encoder's entities are."""
    scenes: int
    """Number of scenes."""
    total: EncoderMetrics
    """All objects in all views."""
    views: dict[str, EncoderMetrics]
    """By camera."""
    counts: dict[str, EncoderMetrics]
    """By the number of objects in the scene."""
    colors: dict[str, EncoderMetrics]
    """By the object's color."""

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        breakdowns = {"views": self.views, "counts": self.counts, "colors": self.colors}
        return {
            "name": self.name,
            "kind": self.kind,
            "scenes": self.scenes,
            "total": self.total.to_dict(),
            **{
                by: {key: metrics.to_dict() for key, metrics in rows.items()}
                for by, rows in breakdowns.items()
            },
        }


def probe_encoder(encoder: Encoder, folder: str | Path, limit: int | None = None) -> ProbeResult:
    """Compute the metrics of an encoder on a folder that `jostle collect` made.

    Args:
        encoder: DLP, slots, VAE, or any other `Encoder`.
        folder: Frames with ground truth.
        limit: Use only the first so many scenes; all by default.
    """
    return Probe.run(encoder, folder, limit).result()


@dataclass(frozen=True)
class Probe:
    """Detections of an encoder beside the ground truth, and the metrics computed from both.

    S scenes, V views, N objects, K entities per view.
    """

    frames: Frames
    """Where the scenes come from."""
    palette: NDArray[np.float32]
    """Colors that color indices refer to, (P, 3)."""
    scenes: Indices
    """Indices of the scenes in `frames`, (S,)."""
    detections: Detections
    """What the encoder detects."""
    truth: GroundTruth
    """What is true."""

    @classmethod
    def run(cls, encoder: Encoder, folder: str | Path, limit: int | None = None) -> "Probe":
        """Encode the scenes of a folder."""
        frames, truth = Frames(folder), Truth(folder)
        require(limit is None or limit > 0, f"limit is a number of scenes above 0, not {limit}.")
        scenes = truth.scenes[:limit]
        detections = encode_dataset(encoder, frames, scenes)
        return cls(
            frames, truth.palette, scenes, detections, read_ground_truth(frames, truth, scenes)
        )

    @property
    def kind(self) -> EntityKind:
        """What the encoder's entities are."""
        if self.detections.positions is None:
            return "vector"
        return "particles" if self.detections.slot_argmax is None else "slots"

    @cached_property
    def assignment(self) -> Assignment | None:
        """Entities assigned to the objects; None for vectors."""
        if self.detections.positions is None:
            return None
        return match(self.detections, self.truth)

    @cached_property
    def entity_labels(self) -> NDArray[np.int64] | None:
        """What entities lie on, (S, V, K); None for vectors."""
        if self.detections.positions is None:
            return None
        return label_entities(self.detections, self.truth)

    @cached_property
    def measurements(self) -> dict[str, Floats]:
        """Measurements of single objects, (S, V, N) or, on the table, (S, N); NaN where none is."""
        detections, truth, assignment = self.detections, self.truth, self.assignment
        table = {
            "table_best": table_errors(truth.centers, truth.visible, truth),
            "table_guess": mean_guess_errors(truth),
        }
        if assignment is None:
            return {**table, "table": vector_table_errors(detections, truth)}
        visible, matched = truth.visible, assignment.matched
        correct, guess = color_probe(detections, assignment, truth)
        positions = matched_positions(detections, assignment)
        return {
            **table,
            "recall": np.where(visible, matched, np.nan),
            "error": np.where(matched, assignment.error, np.nan),
            "error_all": np.where(visible, assignment.error, np.nan),
            "below_threshold": np.where(
                visible & (detections.half_extent is not None),
                below_threshold(detections, assignment, truth),
                np.nan,
            ),
            "merged": np.where(visible, assignment.merged, np.nan),
            "color": correct,
            "color_guess": guess,
            "jitter": jitter(detections, assignment, truth),
            "table": table_errors(positions, matched, truth),
        }

    def result(self) -> ProbeResult:
        """Compute all metrics."""
        truth, names = self.truth, [camera["name"] for camera in self.frames.layout.cameras]
        shape = truth.visible.shape
        every = np.ones(shape, dtype=bool)
        view = np.arange(shape[1])[None, :, None]
        counts, colors = truth.num_objects[:, None, None], truth.colors[:, None, :]
        return ProbeResult(
            name=self.frames.folder.name,
            kind=self.kind,
            scenes=len(self.scenes),
            total=self.metrics(every),
            views={name: self.metrics(every & (view == v)) for v, name in enumerate(names)},
            counts={
                str(count): self.metrics(every & (counts == count))
                for count in np.unique(truth.num_objects)
            },
            colors={
                color_name(self.palette[color]): self.metrics(every & (colors == color), False)
                for color in np.unique(truth.colors[truth.colors >= 0])
            },
        )

    def metrics(self, selected: Flags, images: bool = True) -> EncoderMetrics:
        """Metrics of the selected objects (S, V, N), and of the images that they are in."""
        measurements, in_all_views = self.measurements, selected.all(1)  # (S, N)

        def values(name: str) -> Floats:
            measured = measurements.get(name, np.full(selected.shape, np.nan))
            return measured[in_all_views if measured.ndim == 2 else selected]

        def median_cm(name: str) -> float | None:
            meters = median(values(name))
            return None if meters is None else 100 * meters

        return EncoderMetrics(
            objects=int((selected & self.truth.visible).sum()),
            recall=mean(values("recall")),
            error_px=median(values("error")),
            error_px_95=percentile(values("error"), 95),
            error_all_px=median(values("error_all")),
            error_all_px_95=percentile(values("error_all"), 95),
            below_threshold=mean(values("below_threshold")),
            merged=mean(values("merged")),
            color=mean(values("color")),
            color_guess=mean(values("color_guess")),
            jitter_px=median(values("jitter")),
            jitter_px_95=percentile(values("jitter"), 95),
            table_cm=median_cm("table"),
            table_best_cm=median_cm("table_best"),
            table_guess_cm=median_cm("table_guess"),
            **(self._image_metrics(np.asarray(selected.any(-1))) if images else {}),
        )

    def _image_metrics(self, images: Flags) -> dict[str, float | None]:
        """Metrics of the selected images (S, V)."""
        detections = self.detections
        metrics: dict[str, float | None] = {
            "psnr": mean(detections.psnr[images]),
            "images_per_second": detections.images_per_second,
        }
        if self.entity_labels is None:
            return metrics
        visible = detections.visible[images]  # (I, K)
        labels = self.entity_labels[images][visible]
        count = visible.sum(-1).astype(np.float64)  # (I,)
        return {
            **metrics,
            "on_object": mean(labels == OBJECT),
            "on_arm": mean(labels == ARM),
            "on_nothing": mean(labels == NOTHING),
            "particles": mean(count),
            "particles_95": percentile(count, 95),
        }


def color_name(rgb: NDArray[np.float32]) -> str:
    """Name of a color, or its hexadecimal code if it has none."""
    for name, color in COLORS.items():
        if np.allclose(rgb, color, atol=1e-3):
            return name
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in rgb)
