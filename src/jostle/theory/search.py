"""Searching for the worst: pairs of Q-functions with large errors beyond training."""

import numpy as np

from jostle.theory.models import (
    AttentionQ,
    Sets,
    Values,
    all_sets,
    delta,
    total_variation,
)

_TOLERANCE = 1e-15
"""Error up to which two Q-functions count as equal."""


def heavy_and_light(
    states: int, trained: int, change: float, top: float = 1.0
) -> tuple[AttentionQ, AttentionQ]:
    """Two Q-functions whose error grows as (N - 1) / (M - 1): one heavy state and many light ones.

    All objects attend alike. In the second, light states have no weight to speak of; in the first,
    M - 1 of them have the weight `change` together.
    """
    light = change / (1 - change) / (trained - 1)
    v = np.zeros(states)
    v[0] = top
    rows = np.ones((2, states))
    rows[:, 1:] = [[light], [1e-12]]
    return alike(rows[0], v), alike(rows[1], v)


def alike(weights: Values, v: Values) -> AttentionQ:
    """A Q-function in which all objects attend alike, to each state by its weight (n,)."""
    return AttentionQ(np.tile(weights, (len(weights), 1)), v)


def worst_weights(
    trained: int, used: int, rng: np.random.Generator, steps: int = 1500
) -> tuple[float, AttentionQ, AttentionQ]:
    """Climb to weights whose total variation with N objects is largest, relative to δ with M.

    All objects attend alike, so that δ is the same on own sets and everywhere. Returns the ratio of
    total variation and δ, and the two Q-functions, with the values for which the error is largest.
    """
    start, end = heavy_and_light(used, trained, 0.02)
    logs = np.log(np.stack([start.alpha[0], np.maximum(end.alpha[0], 1e-5)]))  # (2, N)
    logs = logs + rng.normal(size=logs.shape) * rng.choice([0.0, 1.0])
    best, scale = _ratio(logs, trained), 1.0
    for _ in range(steps):
        proposal = logs + rng.normal(size=logs.shape) * scale * (rng.random(logs.shape) < 0.4)
        ratio = _ratio(proposal, trained)
        if ratio > best:
            logs, best, scale = proposal, ratio, scale * 1.3
        else:
            scale = max(scale * 0.98, 1e-4)
    rows = np.exp(logs)
    shares = rows / rows.sum(1, keepdims=True)
    v = (shares[0] > shares[1]).astype(float)
    return best, alike(rows[0], v), alike(rows[1], v)


def same_up_to(
    trained: int, rng: np.random.Generator, iterations: int = 100
) -> tuple[AttentionQ, AttentionQ] | None:
    """Two Q-functions that agree on all sets of up to M of M + 1 states, by Levenberg-Marquardt.

    Values are 0, 1/M, ..., 1 in both. None if the search does not converge.
    """
    states = trained + 1
    v = np.linspace(0, 1, states)
    groups = [all_sets(states, size) for size in range(2, states)]
    half = states * (states - 1)
    logs = rng.normal(size=2 * half) * 1.5

    def residual(x: Values) -> Values:
        first, second = (_values(_attention(part, states), v, groups) for part in np.split(x, 2))
        return first - second

    for _ in range(iterations):
        now = residual(logs)
        if np.abs(now).max() < _TOLERANCE:
            break
        steps = np.eye(2 * half) * 1e-6
        jacobian = np.stack([(residual(logs + d) - residual(logs - d)) / 2e-6 for d in steps], 1)
        normal = jacobian.T @ jacobian + 1e-9 * np.eye(2 * half)
        step = -np.linalg.solve(normal, jacobian.T @ now)
        length = min(1.0, 2 / np.abs(step).max())
        while length > 1e-9 and np.square(residual(logs + length * step)).sum() > now @ now:
            length /= 2
        logs = logs + length * step
    if np.abs(residual(logs)).max() > 1e-14:
        return None
    first, second = (AttentionQ(_attention(part, states), v) for part in np.split(logs, 2))
    return first, second


def _ratio(logs: Values, trained: int) -> float:
    rows = np.exp(np.clip(logs, -30, 30))
    v = np.zeros(rows.shape[1])
    first, second = alike(rows[0], v), alike(rows[1], v)
    closeness = delta(first, second, trained)
    if closeness < 1e-9:  # rounding errors would decide
        return 0.0
    return total_variation(first, second, len(v)) / closeness


def _attention(logs: Values, states: int) -> Values:
    """Attention (n, n) from the logarithms of its entries off the diagonal, which is 1."""
    alpha = np.ones((states, states))
    alpha[~np.eye(states, dtype=bool)] = np.exp(logs)
    return alpha


def _values(alpha: Values, v: Values, groups: list[Sets]) -> Values:
    return np.concatenate([AttentionQ(alpha, v).values(sets) for sets in groups])
