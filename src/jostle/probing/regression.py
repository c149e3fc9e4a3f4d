"""Ridge and logistic regression for linear probes: fitted on some samples, used on others.

R samples, F input columns, T target columns, C classes.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.probing.detections import Flags, Floats

_PENALTIES = 10.0 ** np.arange(-5, 3)
"""Ridge penalties to choose from, per sample, for problems with many columns."""


def ridge(inputs: Floats, targets: Floats, penalty: float = 1e-6) -> Callable[[Floats], Floats]:
    """Fit targets (R, T) by a linear map of inputs (R, F) and a constant.

    Args:
        inputs: Inputs of the samples.
        targets: Targets of the samples.
        penalty: Weight of the squared matrix, per sample, for standardized inputs.

    Returns:
        The fitted map from inputs to targets.
    """
    standardize = _Standardizer(inputs)
    x, mean = standardize(inputs), targets.mean(0)
    gram = x.T @ x / len(x) + penalty * np.eye(x.shape[1])
    matrix = np.linalg.solve(gram, x.T @ (targets - mean) / len(x))
    return lambda new: standardize(new) @ matrix + mean


def tuned_ridge(inputs: Floats, targets: Floats, held_out: Flags) -> Callable[[Floats], Floats]:
    """Fit `ridge` with the penalty that is best on the samples `held_out` (R,)."""
    if held_out.all() or not held_out.any():
        return ridge(inputs, targets, float(_PENALTIES[-1]))
    fit = ~held_out
    errors = [
        np.abs(
            ridge(inputs[fit], targets[fit], penalty)(inputs[held_out]) - targets[held_out]
        ).mean()
        for penalty in _PENALTIES
    ]
    return ridge(inputs, targets, float(_PENALTIES[int(np.argmin(errors))]))


def quadratic_features(inputs: Floats) -> Floats:
    """Columns (R, F), and all their products."""
    first, second = np.triu_indices(inputs.shape[1])
    return np.concatenate((inputs, inputs[:, first] * inputs[:, second]), axis=1)


def classifier(
    inputs: Floats, labels: NDArray[np.int64], penalty: float = 1e-4
) -> Callable[[Floats], NDArray[np.int64]]:
    """Fit labels (R,) by `logistic_regression`, and return the map to the most likely one."""
    classes, log_probs = logistic_regression(inputs, labels, penalty)
    return lambda new: classes[log_probs(new).argmax(-1)]


def logistic_regression(
    inputs: Floats, labels: NDArray[np.int64], penalty: float = 1e-4
) -> tuple[NDArray[np.int64], Callable[[Floats], Floats]]:
    """Fit labels (R,) by inputs (R, F): multinomial logistic regression, by L-BFGS.

    Returns:
        The labels in ascending order, (C,), and the map from inputs to their log-probabilities,
        (R, C).
    """
    standardize, (classes, index) = _Standardizer(inputs), np.unique(labels, return_inverse=True)
    x, y = torch.from_numpy(standardize(inputs)), torch.from_numpy(index)
    matrix = torch.zeros(x.shape[1], len(classes), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(classes), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS((matrix, bias), max_iter=300, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        cross_entropy = torch.nn.functional.cross_entropy(x @ matrix + bias, y)
        loss = cross_entropy + penalty * matrix.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    weights, offset = matrix.detach().numpy(), bias.detach().numpy()

    def log_probs(new: Floats) -> Floats:
        logits = standardize(new) @ weights + offset
        return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)

    return classes, log_probs


class _Standardizer:
    """Subtract the mean of columns and divide by their deviation; constant columns become zero."""

    def __init__(self, inputs: Floats) -> None:
        self._mean, std = inputs.mean(0), inputs.std(0)
        self._std = np.where(std > 1e-9, std, np.inf)

    def __call__(self, inputs: Floats) -> Floats:
        return (inputs - self._mean) / self._std
