"""What can be told from entities: colors, places on the table, and whether they hold still.

All probes are fit on one half of the episodes and scored on the other; NaN where nothing is scored.
"""

from collections.abc import Callable, Sequence

import numpy as np

from jostle.probing.linear import chosen_ridge, classifier, quadratic, ridge
from jostle.probing.looking import Flags, Floats, Sight
from jostle.probing.matching import Service, features_of, places_of
from jostle.probing.objects import Known

_FEWEST = 30
"""Different places below which no map to places is fit; few scenes are often one scene."""


def told_colors(sight: Sight, service: Service, known: Known) -> tuple[Floats, Floats]:
    """Whether the color of a recalled object is told from its entity's features, (S, V, N).

    Returns:
        1 or 0 for the linear probe, and for always guessing the commonest color. One probe serves
        all views.
    """
    colors = np.broadcast_to(known.colors[:, None], known.visible.shape)
    scored = np.broadcast_to(known.scored[:, None, None], known.visible.shape)
    fit, test = service.recalled & ~scored, service.recalled & scored
    right, guess = (np.full(known.visible.shape, np.nan) for _ in range(2))
    if len(np.unique(colors[fit])) > 1 and test.any():
        columns = features_of(sight, service).astype(np.float64)
        told = classifier(columns[fit], colors[fit])(columns[test])
        right[test] = told == colors[test]
        guess[test] = np.bincount(colors[fit]).argmax() == colors[test]
    return right, guess


def shifts(sight: Sight, service: Service, known: Known) -> Floats:
    """How far the place of a resting object moves to the next scene, in pixels, (S, V, N).

    Of objects that do not move, are wholly visible and recalled in both scenes.
    """
    clear = known.whole & service.recalled
    places, later = places_of(sight, service), known.following
    both = known.resting[:, None] & clear & clear[later]
    moved = np.linalg.norm(places[later] - places, axis=-1)
    return np.where(both, moved, np.nan)


def table_errors(places: Floats, found: Flags, known: Known) -> Floats:
    """Error of x, y on the table (S, N), in meters, read off places (S, V, N, 2) in all views.

    A quadratic map, fit to objects that are `found` (S, V, N) in every view.
    """
    seen = np.moveaxis(places, 1, 2)  # (S, N, V, 2)
    usable, scored = found.all(1), known.scored[:, None]
    fit, test = usable & ~scored, usable & scored
    errors = np.full(known.colors.shape, np.nan)
    if enough(known.positions[fit]) and test.any():
        told = table_map(seen[fit], known.positions[fit], known.masks.shape[2:])(seen[test])
        errors[test] = np.linalg.norm(told - known.positions[test], axis=-1)
    return errors


def table_map(places: Floats, positions: Floats, size: Sequence[int]) -> Callable[[Floats], Floats]:
    """Fit positions (R, 2) on the table by places (R, V, 2) in frames of a size: quadratic."""

    def columns(new: Floats) -> Floats:
        return quadratic((2 * new / np.array(size) - 1).reshape(len(new), 2 * new.shape[1]))

    fitted = ridge(columns(places), positions)
    return lambda new: fitted(columns(new))


def vector_errors(sight: Sight, known: Known) -> Floats:
    """Error of x, y on the table (S, N), in meters, read off the vectors of all views at once.

    One linear map per color, of objects that no other has the color of and that are visible in
    every view; a single object has one map whatever its color.
    """
    columns = sight.features.reshape(len(sight.features), -1).astype(np.float64)
    errors = np.full(known.colors.shape, np.nan)
    for which in _targets(known):  # (S, N), at most one object per scene
        _vector_errors(columns, which, known, errors)
    return errors


def guess_errors(known: Known) -> Floats:
    """Error of always telling the mean position, (S, N), in meters."""
    usable, scored = known.visible.all(1), known.scored[:, None]
    if not (usable & ~scored).any():
        return np.full(known.colors.shape, np.nan)
    away = np.linalg.norm(known.positions - known.positions[usable & ~scored].mean(0), axis=-1)
    return np.where(usable & scored, away, np.nan)


def _targets(known: Known) -> list[Flags]:
    usable = np.asarray(known.visible.all(1))
    if known.counts.max() == 1:
        return [usable]
    same = known.colors[:, :, None] == known.colors[:, None, :]
    alone = usable & (same.sum(-1) == 1)
    return [alone & (known.colors == color) for color in np.unique(known.colors[alone])]


def _vector_errors(columns: Floats, which: Flags, known: Known, errors: Floats) -> None:
    scene, one = np.nonzero(which)
    fit = ~known.scored[scene]
    x, y = columns[scene], known.positions[scene, one]
    if fit.all() or not enough(y[fit]):
        return
    rows = np.flatnonzero(fit)
    apart = np.arange(len(rows)) >= 0.7 * len(rows)  # whole episodes but one: scenes are in order
    told = chosen_ridge(x[rows], y[rows], apart)(x[~fit])
    errors[scene[~fit], one[~fit]] = np.linalg.norm(told - y[~fit], axis=-1)


def enough(positions: Floats) -> bool:
    """Say whether there are enough different positions (R, 2) to fit a map to places."""
    return len(np.unique(positions.round(3), axis=0)) >= _FEWEST
