"""Linear probes of entities for colors and positions on the table, and the jitter of positions.

All probes are fitted on one half of the episodes and tested on the other; NaN where nothing is
tested. S scenes, V views, N objects.
"""

from collections.abc import Callable, Sequence

import numpy as np

from jostle.probing.detections import Detections, Flags, Floats
from jostle.probing.ground_truth import GroundTruth
from jostle.probing.matching import Assignment, matched_features, matched_positions
from jostle.probing.regression import classifier, quadratic_features, ridge, tuned_ridge

_MIN_POSITIONS = 30
"""Fewest different positions to fit a map to positions; few scenes are often one scene."""


def color_probe(
    detections: Detections, assignment: Assignment, truth: GroundTruth
) -> tuple[Floats, Floats]:
    """Whether the color of a matched object is predicted from its entity's features, (S, V, N).

    Returns:
        1 or 0 for the linear probe, and for always guessing the most frequent color. There is one
        probe for all views.
    """
    colors = np.broadcast_to(truth.colors[:, None], truth.visible.shape)
    is_test = np.broadcast_to(truth.is_test[:, None, None], truth.visible.shape)
    fit, test = assignment.matched & ~is_test, assignment.matched & is_test
    correct, guess = (np.full(truth.visible.shape, np.nan) for _ in range(2))
    if len(np.unique(colors[fit])) > 1 and test.any():
        features = matched_features(detections, assignment).astype(np.float64)
        predicted = classifier(features[fit], colors[fit])(features[test])
        correct[test] = predicted == colors[test]
        guess[test] = np.bincount(colors[fit]).argmax() == colors[test]
    return correct, guess


def jitter(detections: Detections, assignment: Assignment, truth: GroundTruth) -> Floats:
    """Shift of a static object's position to the next scene, in pixels, (S, V, N).

    Of objects that do not move, and are unoccluded and matched in both scenes.
    """
    usable = truth.unoccluded & assignment.matched
    positions, later = matched_positions(detections, assignment), truth.next_index
    both = truth.static[:, None] & usable & usable[later]
    shift = np.linalg.norm(positions[later] - positions, axis=-1)
    return np.where(both, shift, np.nan)


def table_errors(positions: Floats, detected: Flags, truth: GroundTruth) -> Floats:
    """Error of x, y on the table (S, N), in meters, from positions (S, V, N, 2) in all views.

    A quadratic map, fitted to objects that are `detected` (S, V, N) in every view.
    """
    inputs = np.moveaxis(positions, 1, 2)  # (S, N, V, 2)
    usable, is_test = detected.all(1), truth.is_test[:, None]
    fit, test = usable & ~is_test, usable & is_test
    errors = np.full(truth.colors.shape, np.nan)
    targets = truth.table_positions
    if enough_positions(targets[fit]) and test.any():
        predicted = fit_table_map(inputs[fit], targets[fit], truth.masks.shape[2:])(inputs[test])
        errors[test] = np.linalg.norm(predicted - targets[test], axis=-1)
    return errors


def fit_table_map(
    positions: Floats, targets: Floats, size: Sequence[int]
) -> Callable[[Floats], Floats]:
    """Fit targets (R, 2) on the table by a quadratic map of positions (R, V, 2) in frames."""

    def inputs(new: Floats) -> Floats:
        scaled = 2 * new / np.array(size) - 1
        return quadratic_features(scaled.reshape(len(new), 2 * new.shape[1]))

    fitted = ridge(inputs(positions), targets)
    return lambda new: fitted(inputs(new))


def vector_table_errors(detections: Detections, truth: GroundTruth) -> Floats:
    """Error of x, y on the table (S, N), in meters, from the vectors of all views.

    One linear map per color, of objects whose color is unique in the scene and that are visible in
    every view; scenes of one object have one map for all colors.
    """
    vectors = detections.features.reshape(len(detections.features), -1).astype(np.float64)
    errors = np.full(truth.colors.shape, np.nan)
    for selected in _vector_targets(truth):  # (S, N), at most one object per scene
        _fill_vector_errors(vectors, selected, truth, errors)
    return errors


def mean_guess_errors(truth: GroundTruth) -> Floats:
    """Error of always guessing the mean position, (S, N), in meters."""
    usable, is_test = truth.visible.all(1), truth.is_test[:, None]
    positions = truth.table_positions
    if not (usable & ~is_test).any():
        return np.full(truth.colors.shape, np.nan)
    error = np.linalg.norm(positions - positions[usable & ~is_test].mean(0), axis=-1)
    return np.where(usable & is_test, error, np.nan)


def enough_positions(positions: Floats) -> bool:
    """Whether there are enough different positions (R, 2) to fit a map to positions."""
    return len(np.unique(positions.round(3), axis=0)) >= _MIN_POSITIONS


def _vector_targets(truth: GroundTruth) -> list[Flags]:
    """Objects (S, N) of each linear map."""
    usable = np.asarray(truth.visible.all(1))
    if truth.num_objects.max() == 1:
        return [usable]
    same = truth.colors[:, :, None] == truth.colors[:, None, :]
    unique = usable & (same.sum(-1) == 1)
    return [unique & (truth.colors == color) for color in np.unique(truth.colors[unique])]


def _fill_vector_errors(
    vectors: Floats, selected: Flags, truth: GroundTruth, errors: Floats
) -> None:
    """Fit the selected objects (S, N), and write the errors of the test scenes to `errors`."""
    scene, index = np.nonzero(selected)
    fit = ~truth.is_test[scene]
    x, y = vectors[scene], truth.table_positions[scene, index]
    if fit.all() or not enough_positions(y[fit]):
        return
    rows = np.flatnonzero(fit)
    # Scenes are in order, so that at most one episode is on both sides.
    held_out = np.arange(len(rows)) >= 0.7 * len(rows)
    predicted = tuned_ridge(x[rows], y[rows], held_out)(x[~fit])
    errors[scene[~fit], index[~fit]] = np.linalg.norm(predicted - y[~fit], axis=-1)
