"""State estimation: positions of objects on the table, estimated from frames.

A state estimator is fitted on frames with ground truth. It identifies the entity of an object by
the object's color, and maps its positions in all views to the table. Of the scenes that it
estimates, it knows the frames and the colors of objects only.
S scenes, V views, K entities per view, N objects, C colors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, require
from jostle.core.protocols import Encoder
from jostle.frames.manifest import Layout
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth
from jostle.probing.detections import Detections, Floats, encode_batch
from jostle.probing.ground_truth import FALLEN_HEIGHT
from jostle.probing.linear_probes import enough_positions, fit_table_map
from jostle.probing.matching import OBJECT, matched_positions
from jostle.probing.probe import Probe, color_name
from jostle.probing.regression import logistic_regression, quadratic_features
from jostle.probing.view_agreement import agree_on_entities

Map = Callable[[Floats], Floats]

OTHER = -1
"""Label of entities that are not objects: the arm, the table."""
_BATCH_SCENES = 8
"""Scenes that are encoded at once."""
_HEIGHT_STRIDE = 20
"""The height of objects is taken from every so many scenes."""


@dataclass(frozen=True)
class EstimationErrors:
    """Errors of estimated positions."""

    detected: float
    """Fraction of objects that were detected in at least one view."""
    median_cm: float
    """Median distance, of detected objects."""
    p95_cm: float
    """95th percentile of the distance."""

    @classmethod
    def of(cls, estimated: NDArray[Any], true: NDArray[Any]) -> "EstimationErrors":
        """Compare positions (..., 2) in meters, NaN where an object was not detected."""
        distance = 100 * np.linalg.norm(estimated - true, axis=-1).ravel()
        detected = distance[~np.isnan(distance)]
        if not len(detected):
            return cls(0.0, float("nan"), float("nan"))
        median, p95 = np.percentile(detected, (50, 95))
        return cls(len(detected) / len(distance), float(median), float(p95))


@dataclass(frozen=True)
class StateEstimator:
    """Estimates positions on the table of objects with known colors."""

    encoder: Encoder
    """Detects the entities."""
    layout: Layout
    """Cameras and size of the frames it was fitted on."""
    palette: NDArray[np.float32]
    """Known colors, (C, 3)."""
    color_log_probs: Map
    """From the color features of entities (R, F) to log-probabilities of each color, (R, C)."""
    view_maps: tuple[Map, ...]
    """For each view, from positions in it (R, 1, 2) to the table."""
    joint_map: Map
    """From positions in all views (R, V, 2) to the table."""
    tolerance: float
    """Usual difference, in meters, of estimates from single views of the same object."""
    mean_position: Floats
    """Mean position of objects, (2,), for objects that were never detected."""
    height: float
    """Height of objects on the table, in meters."""

    def estimate(self, frames: NDArray[np.uint8], colors: NDArray[np.float32]) -> Floats:
        """Estimate where the objects of colors (S, N, 3) are in frames (S, V, H, W, 3).

        Returns:
            x and y in meters, (S, N, 2); NaN for objects that are not detected in any view.
        """
        color_ids = self.color_ids(colors)
        parts = []
        for part in _batches(len(frames)):
            detections, _ = encode_batch(self.encoder, torch.from_numpy(frames[part]))
            parts.append(self.estimate_from(detections, color_ids[part]))
        return np.concatenate(parts)

    def color_ids(self, colors: NDArray[np.float32]) -> NDArray[np.int64]:
        """Indices of colors (..., N, 3) in the palette; no two objects of a scene may share one."""
        same = np.abs(colors[..., None, :] - self.palette).max(-1) < 1e-3  # (..., N, C)
        if not same.any(-1).all():
            unknown = color_name(colors[~same.any(-1)][0])
            known = ", ".join(color_name(color) for color in self.palette)
            raise BadValueError(
                f"This state estimator was not fitted with the color {unknown}, only with {known}. "
                "Fit it on frames that show it."
            )
        require(
            bool((same.sum(-2) <= 1).all()),
            "Two objects have the same color, so they cannot be distinguished.",
        )
        return same.argmax(-1)

    def estimate_from(self, detections: Detections, color_ids: NDArray[np.int64]) -> Floats:
        """Estimate positions (S, N, 2) of objects of known colors (S, N) from detections."""
        assert detections.positions is not None
        scenes, views, count = detections.visible.shape

        # Log-probability that an entity has the color of an object
        log_prob = self.color_log_probs(
            color_features(detections).reshape(scenes * views * count, -1)
        )
        log_prob = log_prob.reshape(scenes, views, count, -1)
        log_prob = np.where(detections.visible[..., None], log_prob, -np.inf)
        log_prob = np.take_along_axis(log_prob, color_ids[:, None, None], -1)  # (S, V, K, N)

        # Estimates from single views, and the entities on which the views agree
        per_view = np.stack(
            [
                view_map(detections.positions[:, view].reshape(-1, 1, 2)).reshape(scenes, count, 2)
                for view, view_map in enumerate(self.view_maps)
            ],
            axis=1,
        )  # (S, V, K, 2)
        entity, detected = agree_on_entities(
            np.moveaxis(log_prob, -1, 1), per_view, self.tolerance
        )  # (S, N, V)
        index = np.moveaxis(entity, 1, 2)[..., None]  # (S, V, N, 1)
        single = np.moveaxis(np.take_along_axis(per_view, index, 2), 1, 2)  # (S, N, V, 2)
        pixels = np.moveaxis(np.take_along_axis(detections.positions, index, 2), 1, 2)

        # Mean of single views, or the joint map where all views have the object
        positions = np.where(detected[..., None], single, 0).sum(2)
        positions /= np.where(detected.any(-1), detected.sum(-1), np.nan)[..., None]
        in_all_views = detected.all(-1)
        positions[in_all_views] = self.joint_map(pixels[in_all_views])
        return positions


def color_features(detections: Detections) -> Floats:
    """Inputs of the color classifier, (S, V, K, F): features and size, and their products."""
    columns = detections.features.astype(np.float64)
    if detections.half_extent is not None:
        columns = np.concatenate((columns, detections.half_extent), -1)
    products = quadratic_features(columns.reshape(-1, columns.shape[-1]))
    return products.reshape(*columns.shape[:-1], -1)


def fit_state_estimator(
    encoder: Encoder, folder: str | Path, limit: int | None = None
) -> tuple[StateEstimator, EstimationErrors]:
    """Fit a state estimator on one half of a folder's episodes, and test it on the other.

    Args:
        encoder: An encoder whose entities have positions.
        folder: Frames with ground truth, of the cameras and colors that will be estimated.
        limit: Use only the first so many scenes; all by default.
    """
    first = torch.from_numpy(Frames(folder).batch([0]))
    if encode_batch(encoder, first)[0].positions is None:
        raise BadValueError(
            "The entities of this encoder are vectors, which have no positions. Use an encoder "
            "with particles or slots, such as dlp-6cubes."
        )
    probe = Probe.run(encoder, folder, limit)
    truth = probe.truth

    # Fit
    classes, log_probs = logistic_regression(*_color_samples(probe))
    colors = classes[classes != OTHER]
    estimator = StateEstimator(
        encoder=encoder,
        layout=probe.frames.layout,
        palette=probe.palette[colors],
        color_log_probs=lambda features: log_probs(features)[:, classes != OTHER],
        **_fit_maps(probe),
        height=_object_height(folder, probe),
    )

    # Test
    known = np.isin(truth.colors, colors)
    tested = truth.is_test[:, None] & truth.visible.any(1) & known  # (S, N)
    estimated = np.full_like(truth.table_positions, np.nan)
    color_ids = np.searchsorted(colors, truth.colors).clip(max=len(colors) - 1)
    for part in _batches(len(estimated)):
        estimated[part] = estimator.estimate_from(_part(probe.detections, part), color_ids[part])
    return estimator, EstimationErrors.of(estimated[tested], truth.table_positions[tested])


def _color_samples(probe: Probe) -> tuple[Floats, NDArray[np.int64]]:
    """Color features of entities (R, F) and their color or `OTHER`; ambiguous ones are left out."""
    truth, detections, assignment = probe.truth, probe.detections, probe.assignment
    assert assignment is not None
    ambiguous = OTHER - 1
    labels = np.where(probe.entity_labels == OBJECT, ambiguous, OTHER)  # (S, V, K)
    scene, view, index = np.nonzero(assignment.matched & ~assignment.merged)
    labels[scene, view, assignment.entity[scene, view, index]] = truth.colors[scene, index]
    fit = detections.visible & (labels != ambiguous) & ~truth.is_test[:, None, None]
    require(bool((labels[fit] != OTHER).any()), "No object was detected: there is nothing to fit.")
    return color_features(detections)[fit], labels[fit]


def _fit_maps(probe: Probe) -> dict[str, Any]:
    """Maps to the table, the usual difference of those of single views, and the mean position."""
    truth, assignment = probe.truth, probe.assignment
    assert assignment is not None
    size, targets = truth.masks.shape[2:], truth.table_positions
    matched = assignment.matched & ~truth.is_test[:, None, None]  # (S, V, N)
    positions = np.moveaxis(matched_positions(probe.detections, assignment), 1, 2)  # (S, N, V, 2)
    in_all_views = matched.all(1)
    require(
        enough_positions(targets[in_all_views]),
        f"Too few different positions in {probe.frames.folder} to fit a map. Collect more.",
    )
    view_maps = tuple(
        fit_table_map(positions[usable][:, [view]], targets[usable], size)
        for view, usable in enumerate(np.moveaxis(matched, 1, 0))
    )
    estimates = [
        view_map(positions[in_all_views][:, [view]]) for view, view_map in enumerate(view_maps)
    ]
    gaps = [np.linalg.norm(other - estimates[0], axis=-1) for other in estimates[1:]]
    return {
        "view_maps": view_maps,
        "joint_map": fit_table_map(positions[in_all_views], targets[in_all_views], size),
        "tolerance": float(np.percentile(np.concatenate(gaps or [np.ones(1)]), 95)),
        "mean_position": targets[in_all_views].mean(0),
    }


def _object_height(folder: str | Path, probe: Probe) -> float:
    """Median height of objects on the table."""
    batch = Truth(folder).batch(probe.scenes[::_HEIGHT_STRIDE])
    heights = batch.positions[..., 2][batch.present]
    return float(np.median(heights[heights > FALLEN_HEIGHT]))


def _batches(count: int) -> Iterator[slice]:
    return (slice(start, start + _BATCH_SCENES) for start in range(0, count, _BATCH_SCENES))


def _part(detections: Detections, part: slice) -> Detections:
    """Detections of some of the scenes."""
    assert detections.positions is not None
    extent = detections.half_extent
    return replace(
        detections,
        features=detections.features[part],
        visible=detections.visible[part],
        positions=detections.positions[part],
        half_extent=None if extent is None else extent[part],
    )
