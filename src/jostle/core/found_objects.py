"""Objects that were found in images, as entities: place on the table, looks in each view.

An object looks a little different in each view, and quite different while the arm hides half of it.
So looks are kept per view, and two objects look alike if they do in any pair of views.
Shapes: V views, F features, W columns.
"""

from typing import Any

import numpy as np

from jostle.core.entities import FEATURES, POSITION, Entities, EntityLayout

SEEN, VIEWS = "seen", "views"
"""Columns of a found object: 1 while it is seen; in which views its looks are known."""

IMAGE_METRICS = {
    "image_success": "1 if every goal object is at its goal by images, else 0",
    "image_success_fraction": "fraction of goal objects at their goals by images",
    "image_distance": "mean distance of goal objects to their goals by images, in meters",
    "image_return": "mean table reward per step since the start of the episode",
}
"""Metrics by images: the detector of success, and what it is made of."""


def found_layout(features: int, views: int) -> EntityLayout:
    """Columns: place on the table in meters, features of every view, known views, seen now."""
    return EntityLayout(((POSITION, 2), (FEATURES, views * features), (VIEWS, views), (SEEN, 1)))


def seen_now(objects: Entities) -> Entities:
    """Only the objects that some view shows; the column `SEEN` is the last one."""
    return Entities(objects.values, objects.visible & (objects.values[..., -1] > 0))


def feature_gaps(first: Any, second: Any, layout: EntityLayout) -> Any:
    """Least squared distance of features over all pairs of views, (..., M, G).

    `first` is (..., M, W), `second` (..., G, W). Infinite where no looks are known.
    """
    views = layout[VIEWS].stop - layout[VIEWS].start
    width = (layout[FEATURES].stop - layout[FEATURES].start) // views
    best: Any = np.inf
    for one in range(views):
        for other in range(views):
            left = first[..., _columns(layout, one, width)][..., :, None, :]
            right = second[..., _columns(layout, other, width)][..., None, :, :]
            gap = ((left - right) ** 2).sum(-1)  # (..., M, G)
            known = (first[..., layout[VIEWS].start + one] > 0)[..., :, None] & (
                second[..., layout[VIEWS].start + other] > 0
            )[..., None, :]
            best = np.minimum(best, np.where(known, gap, np.inf))
    return best


def _columns(layout: EntityLayout, view: int, width: int) -> slice:
    """Features of one view."""
    start = layout[FEATURES].start + view * width
    return slice(start, start + width)
