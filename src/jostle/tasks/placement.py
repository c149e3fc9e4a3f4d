"""Rejection sampling of positions for objects that must not overlap."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import ImpossibleSceneError

_MAX_TRIES = 10_000

Region = tuple[tuple[float, float], tuple[float, float]]
"""Lowest and highest (x, y)."""


def sample_positions(
    region: Region,
    radii: Sequence[float],
    obstacles: Sequence[tuple[float, float, float]],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Sample one position per radius, (N, 2), each clear of the earlier ones.

    Args:
        region: Where centers may lie.
        radii: The centers of two objects are at least the sum of their radii apart.
        obstacles: Circles (x, y, radius) to stay clear of.
        rng: Source of randomness.

    Raises:
        ImpossibleSceneError: If 10,000 tries found no free position for an object.
    """
    (x_low, y_low), (x_high, y_high) = region
    if x_low > x_high or y_low > y_high:
        raise ImpossibleSceneError(
            f"The table is too small: objects may lie in x [{x_low:.3f}, {x_high:.3f}], "
            f"y [{y_low:.3f}, {y_high:.3f}], which is empty. Take a larger table."
        )
    circles = [tuple(circle) for circle in obstacles]
    for number, radius in enumerate(radii):
        for _ in range(_MAX_TRIES):
            x, y = rng.uniform(x_low, x_high), rng.uniform(y_low, y_high)
            if all((x - a) ** 2 + (y - b) ** 2 >= (radius + r) ** 2 for a, b, r in circles):
                break
        else:
            raise ImpossibleSceneError(
                f"No free position for object {number + 1} of {len(radii)} after {_MAX_TRIES} "
                "tries. Take fewer or smaller objects, or a larger table."
            )
        circles.append((x, y, radius))
    return np.array(circles[len(obstacles) :], dtype=float).reshape(-1, 3)[:, :2]
