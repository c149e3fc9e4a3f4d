"""Spearman's rank correlation."""

import numpy as np


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Correlation of the ranks; 0 if either side is constant."""
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]
