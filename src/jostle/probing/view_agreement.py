"""Choice of one entity per view and object, so that the views agree on the object's position.

S scenes, V views, K entities per view, N objects.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.probing.detections import Flags, Floats

MIN_PROB = 0.5
"""Smallest probability with which an entity is taken for an object."""


def agree_on_entities(
    log_prob: Floats, per_view: Floats, tolerance: float
) -> tuple[NDArray[np.int64], Flags]:
    """Choose an entity in every view for each object, so that the views agree on its position.

    Each entity in turn is taken for the object, and each other view contributes its best entity
    near the same position; a view without one as likely as `MIN_PROB` abstains.

    Args:
        log_prob: Log-probability that an entity is the object, (S, N, V, K).
        per_view: Position on the table by each entity alone, (S, V, K, 2).
        tolerance: Usual difference of such positions in meters.

    Returns:
        The entities (S, N, V), and whether the view has one at all (S, N, V).
    """
    scenes, objects, views, count = log_prob.shape

    # Support of every entity by every other one; E = V K entities in all views
    flat = per_view.reshape(scenes, views * count, 2)
    gap = np.linalg.norm(flat[:, :, None] - flat[:, None], axis=-1)  # (S, E, E)
    penalty = (gap / tolerance) ** 2 / 2
    support = log_prob.reshape(scenes, objects, 1, -1) - penalty[:, None]  # (S, N, E, E)
    support = support.reshape(scenes, objects, views * count, views, count)

    # Best partner in each view; in its own view, an entity is its own partner
    view_of = np.repeat(np.arange(views), count)  # (E,)
    own = view_of[:, None] == np.arange(views)  # (E, V)
    partner = support.argmax(-1)  # (S, N, E, V)
    partner = np.where(own, (np.arange(views * count) % count)[:, None], partner)
    value = np.take_along_axis(support, partner[..., None], -1)[..., 0]
    agrees = value > np.log(MIN_PROB)

    # Entity with the largest total support
    total = np.where(own | agrees, value, np.log(MIN_PROB)).sum(-1)  # (S, N, E)
    best = total.argmax(-1)[..., None, None]
    return (
        np.take_along_axis(partner, best, 2)[:, :, 0],
        np.take_along_axis(agrees, best, 2)[:, :, 0],
    )
