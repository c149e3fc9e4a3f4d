"""Statistics of features as LeRobot stores them: per episode, and of the whole dataset."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Stats = dict[str, NDArray[Any]]
"""Minimum, maximum, mean, standard deviation, number of frames and quantiles of a feature."""
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
_IMAGES = 8
"""Frames of an episode from which the statistics of its images are estimated."""


def vector_stats(rows: NDArray[Any]) -> Stats:
    """Statistics of vectors (T, D), each (D,)."""
    values = rows.astype(np.float64)
    return _stats(values, len(values))


def image_stats(frames: NDArray[np.uint8]) -> Stats:
    """Statistics of the channels of images (T, H, W, 3) in [0, 1], each (3, 1, 1)."""
    chosen = np.unique(np.linspace(0, len(frames) - 1, _IMAGES).astype(int))
    pixels = frames[chosen].reshape(-1, frames.shape[-1]) / 255.0
    stats = _stats(pixels, len(chosen))
    return {
        name: value if name == "count" else value[:, None, None] for name, value in stats.items()
    }


def merge(parts: list[Stats]) -> Stats:
    """Statistics of all episodes from those of each; quantiles become weighted means of theirs."""
    count = np.sum([part["count"] for part in parts])
    weights = [part["count"] / count for part in parts]

    def mean(values: list[NDArray[Any]]) -> NDArray[Any]:
        return np.sum([w * value for w, value in zip(weights, values, strict=True)], axis=0)

    center = mean([part["mean"] for part in parts])
    spread = mean([part["std"] ** 2 + (part["mean"] - center) ** 2 for part in parts])
    merged = {name: mean([part[name] for part in parts]) for name in QUANTILES}
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": center,
        "std": np.sqrt(spread),
        "count": np.array([count]),
        **merged,
    }


def _stats(rows: NDArray[np.float64], count: int) -> Stats:
    quantiles = np.quantile(rows, list(QUANTILES.values()), axis=0)
    return {
        "min": rows.min(0),
        "max": rows.max(0),
        "mean": rows.mean(0),
        "std": rows.std(0),
        "count": np.array([count]),
        **dict(zip(QUANTILES, quantiles, strict=True)),
    }
