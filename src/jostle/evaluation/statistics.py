"""Statistics of scores over seeds and episodes: intervals, paired comparisons, profiles.

Pure numpy. Everything random comes from a generator that is passed in.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require

Scores = NDArray[np.float64]
"""Scores of one task, (S, E): the same episodes for each of S seeds."""
Statistic = Callable[[Scores], Scores]
"""From run scores (R, n), one row per bootstrap sample, to one value per row (R,)."""
SAMPLES = 2000
"""Bootstrap samples of an interval."""
_CHUNK = 2_000_000
"""Numbers that one chunk of bootstrap samples draws at most."""
_QUANTILES = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
)  # fmt: skip
"""97.5 % quantiles of Student's t with 1, 2, 3, ... degrees of freedom."""


class Interval(NamedTuple):
    """An estimate and its 95 % interval."""

    value: float
    low: float
    high: float

    def text(self, decimals: int = 3) -> str:
        """The three numbers as tables show them."""
        return f"{self.value:.{decimals}f} [{self.low:.{decimals}f}, {self.high:.{decimals}f}]"


def wilson_interval(successes: float, total: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson score interval of a proportion."""
    rate = successes / total
    scale = 1 + z * z / total
    center = (rate + z * z / (2 * total)) / scale
    half_width = z / scale * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    low = 0.0 if successes <= 0 else center - half_width
    high = 1.0 if successes >= total else center + half_width
    return low, high


def t_quantile(freedom: int) -> float:
    """97.5 % quantile of Student's t: from a table, and from 21 on by its expansion at infinity."""
    if freedom <= len(_QUANTILES):
        return _QUANTILES[freedom - 1]
    z = 1.959964
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


def interquartile_mean(values: Scores) -> Scores:
    """Mean of the middle half along the last axis (IQM): a quarter is cut off at both ends.

    The number cut off is rounded down, so fewer than four values have their plain mean.
    """
    count = values.shape[-1]
    cut = count // 4
    return np.sort(values, axis=-1)[..., cut : count - cut].mean(-1)


def mean(values: Scores) -> Scores:
    """Mean along the last axis."""
    return values.mean(-1)


def bootstrap_interval(
    tasks: Sequence[Scores],
    rng: np.random.Generator,
    statistic: Statistic = mean,
    samples: int = SAMPLES,
) -> Interval:
    """A statistic of run scores with its stratified bootstrap interval (percentiles).

    A run score is the mean over the episodes of one seed on one task. Every bootstrap sample draws,
    task by task, as many seeds as there are, and for each of them as many episodes; tasks are
    strata and are never drawn. With one seed, the interval is over episodes alone.

    Args:
        tasks: Scores (S, E) of each task; numbers of seeds and episodes may differ.
        rng: Source of the bootstrap samples.
        statistic: `mean` or `interquartile_mean`, of all run scores together.
        samples: Bootstrap samples.
    """
    require(len(tasks) > 0, "A statistic needs the scores of at least one task.")
    for scores in tasks:
        _check_scores(scores)
    value = statistic(np.concatenate([scores.mean(1) for scores in tasks])[None])[0]
    drawn = np.concatenate([_resample_runs(scores, rng, samples) for scores in tasks], axis=1)
    low, high = np.quantile(statistic(drawn), (0.025, 0.975))  # of (R, runs)
    return Interval(float(value), float(low), float(high))


def paired_difference(
    first: Scores, second: Scores, rng: np.random.Generator, samples: int = SAMPLES
) -> Interval:
    """Mean of `first - second` over the same episodes (E,), with its paired bootstrap interval."""
    require(
        first.shape == second.shape and first.ndim == 1,
        f"Paired scores are of the same episodes, but have shapes {first.shape} and "
        f"{second.shape}.",
    )
    return bootstrap_interval([(first - second)[None]], rng, samples=samples)


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """McNemar's exact test: probability of a split at least this uneven between equal agents."""
    total, smaller = only_first + only_second, min(only_first, only_second)
    if total == 0:
        return 1.0
    tail = sum(math.comb(total, k) for k in range(smaller + 1))
    return min(1.0, 2 * tail / 2**total)  # integers: 2.0**total would overflow


def probability_of_improvement(first: Scores, second: Scores) -> float:
    """How often a score of `first` (n,) exceeds one of `second` (m,), ties counting half.

    All pairs are compared: the Mann-Whitney statistic divided by n * m.
    """
    order = np.sort(second)
    below = np.searchsorted(order, first, side="left")
    up_to = np.searchsorted(order, first, side="right")
    return float((below + up_to).mean() / 2 / len(second))


def paired_improvement(first: Scores, second: Scores, rng: np.random.Generator) -> Interval:
    """Fraction of the same episodes (E,) on which `first` is better, ties counting half."""
    wins = (np.sign(first - second) + 1) / 2  # (E,)
    return bootstrap_interval([wins[None]], rng)


def improvement_over_tasks(
    first: Sequence[Scores], second: Sequence[Scores], rng: np.random.Generator
) -> Interval:
    """Probability that a run of `first` beats one of `second`, averaged over the same tasks.

    Bootstrap samples are drawn as in `bootstrap_interval`.
    """
    require(len(first) == len(second) > 0, "Both need scores of the same tasks.")
    values, drawn = [], []
    for own, other in zip(first, second, strict=True):
        _check_scores(own)
        _check_scores(other)
        values.append(probability_of_improvement(own.mean(1), other.mean(1)))
        own, other = _resample_runs(own, rng), _resample_runs(other, rng)  # (R, S) each
        wins = (np.sign(own[:, :, None] - other[:, None]) + 1) / 2  # (R, S, S')
        drawn.append(wins.mean((1, 2)))
    low, high = np.quantile(np.mean(drawn, axis=0), (0.025, 0.975))
    return Interval(float(np.mean(values)), float(low), float(high))


def performance_profile(
    scores: Scores, thresholds: Scores, rng: np.random.Generator, samples: int = 500
) -> tuple[Scores, Scores, Scores]:
    """Fraction of scores (S, E) above each threshold, and its 95 % band; all (thresholds,)."""
    _check_scores(scores)
    above = (scores[..., None] > thresholds).astype(float)  # (S, E, thresholds)
    seeds, episodes = scores.shape
    drawn = np.empty((samples, len(thresholds)))
    for sample in range(samples):
        seed = rng.integers(seeds, size=(seeds, 1))
        episode = rng.integers(episodes, size=(seeds, episodes))
        drawn[sample] = above[seed, episode].mean((0, 1))
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    return above.mean((0, 1)), low, high


def scores_of_rate(rate: float, episodes: int) -> Scores:
    """Successes (1, E) of one seed from its success rate, for results without single episodes."""
    return (np.arange(episodes) < round(rate * episodes)).astype(float)[None]


def _resample_runs(scores: Scores, rng: np.random.Generator, samples: int = SAMPLES) -> Scores:
    """Run scores (R, S) of R bootstrap samples of scores (S, E)."""
    seeds, episodes = scores.shape
    chunk = max(1, _CHUNK // scores.size)
    drawn = np.empty((samples, seeds))
    for start in range(0, samples, chunk):
        rows = min(chunk, samples - start)
        seed = rng.integers(seeds, size=(rows, seeds, 1))
        episode = rng.integers(episodes, size=(rows, seeds, episodes))
        drawn[start : start + rows] = scores[seed, episode].mean(-1)
    return drawn


def _check_scores(scores: Scores) -> None:
    require(
        scores.ndim == 2 and scores.size > 0,
        f"Scores have the shape (seeds, episodes), not {scores.shape}.",
    )
    require(bool(np.isfinite(scores).all()), "Scores must be finite numbers.")
