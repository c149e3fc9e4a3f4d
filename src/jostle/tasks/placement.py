"""Places for things that must not overlap, by rejection, with a bound and a named error."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import ImpossibleSceneError

_TRIES = 10_000

Region = tuple[tuple[float, float], tuple[float, float]]
"""Lowest and highest (x, y)."""


def scatter(
    region: Region,
    radii: Sequence[float],
    kept_free: Sequence[tuple[float, float, float]],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw one point per radius, (N, 2), each clear of the earlier ones.

    Args:
        region: Where centers may lie.
        radii: Two objects keep the sum of their radii between their centers.
        kept_free: Further circles (x, y, radius) to keep away from.
        rng: Source of randomness.

    Raises:
        ImpossibleSceneError: If 10,000 tries found no room for an object.
    """
    (x_low, y_low), (x_high, y_high) = region
    if x_low > x_high or y_low > y_high:
        raise ImpossibleSceneError(
            f"The table is too small: objects may lie in x [{x_low:.3f}, {x_high:.3f}], "
            f"y [{y_low:.3f}, {y_high:.3f}], which is empty. Take a larger table."
        )
    taken = [tuple(circle) for circle in kept_free]
    for number, radius in enumerate(radii):
        for _ in range(_TRIES):
            x, y = rng.uniform(x_low, x_high), rng.uniform(y_low, y_high)
            if all((x - a) ** 2 + (y - b) ** 2 >= (radius + r) ** 2 for a, b, r in taken):
                break
        else:
            raise ImpossibleSceneError(
                f"No room for object {number + 1} of {len(radii)} after {_TRIES} tries. "
                "Take fewer or smaller objects, or a larger table."
            )
        taken.append((x, y, radius))
    return np.array(taken[len(kept_free) :], dtype=float).reshape(-1, 3)[:, :2]
