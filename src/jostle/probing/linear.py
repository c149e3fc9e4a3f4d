"""Linear probes: what can be read off by a matrix. Fit on some rows, used on others."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.probing.looking import Flags, Floats

_STRENGTHS = 10.0 ** np.arange(-5, 3)
"""Ridges to choose from, per row, where there are many columns."""


def ridge(columns: Floats, targets: Floats, strength: float = 1e-6) -> Callable[[Floats], Floats]:
    """Fit targets (R, T) by columns (R, F) and a constant; returns the fitted map.

    Args:
        columns: What is known.
        targets: What is wanted.
        strength: Weight of the squared matrix, per row and in units of the columns' deviations.
    """
    scale = _Scale(columns)
    x, middle = scale(columns), targets.mean(0)
    gram = x.T @ x / len(x) + strength * np.eye(x.shape[1])
    matrix = np.linalg.solve(gram, x.T @ (targets - middle) / len(x))
    return lambda new: scale(new) @ matrix + middle


def chosen_ridge(columns: Floats, targets: Floats, apart: Flags) -> Callable[[Floats], Floats]:
    """Fit as `ridge` does, with the strength that is best on the rows `apart` when not fit."""
    if apart.all() or not apart.any():
        return ridge(columns, targets, float(_STRENGTHS[-1]))
    errors = [
        np.abs(ridge(columns[~apart], targets[~apart], s)(columns[apart]) - targets[apart]).mean()
        for s in _STRENGTHS
    ]
    return ridge(columns, targets, float(_STRENGTHS[int(np.argmin(errors))]))


def quadratic(columns: Floats) -> Floats:
    """Columns (R, F), and all their products."""
    first, second = np.triu_indices(columns.shape[1])
    return np.concatenate((columns, columns[:, first] * columns[:, second]), axis=1)


def classifier(
    columns: Floats, labels: NDArray[np.int64], penalty: float = 1e-4
) -> Callable[[Floats], NDArray[np.int64]]:
    """Fit labels (R,) by columns (R, F), and tell the likeliest one."""
    classes, chances = odds(columns, labels, penalty)
    return lambda new: classes[chances(new).argmax(-1)]


def odds(
    columns: Floats, labels: NDArray[np.int64], penalty: float = 1e-4
) -> tuple[NDArray[np.int64], Callable[[Floats], Floats]]:
    """Fit labels (R,) by columns (R, F): multinomial logistic regression, by L-BFGS.

    Returns:
        The labels in rising order, (C,), and the map from columns to the logarithms of their
        chances, (R, C).
    """
    scale, (classes, wanted) = _Scale(columns), np.unique(labels, return_inverse=True)
    x, y = torch.from_numpy(scale(columns)), torch.from_numpy(wanted)
    matrix = torch.zeros(x.shape[1], len(classes), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(classes), dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS((matrix, bias), max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        wrong = torch.nn.functional.cross_entropy(x @ matrix + bias, y)
        total = wrong + penalty * matrix.square().sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    search.step(loss)  # type: ignore[no-untyped-call]
    weights, level = matrix.detach().numpy(), bias.detach().numpy()

    def chances(new: Floats) -> Floats:
        levels = scale(new) @ weights + level
        return levels - np.logaddexp.reduce(levels, axis=-1, keepdims=True)

    return classes, chances


class _Scale:
    """Center and deviation of columns; those that never change become zero."""

    def __init__(self, columns: Floats) -> None:
        self._middle, spread = columns.mean(0), columns.std(0)
        self._spread = np.where(spread > 1e-9, spread, np.inf)

    def __call__(self, columns: Floats) -> Floats:
        return (columns - self._middle) / self._spread
