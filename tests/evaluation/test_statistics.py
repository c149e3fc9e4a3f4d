"""Statistics of scores, checked against scipy and against known values."""

import numpy as np
import pytest

from jostle.core.errors import BadValueError
from jostle.evaluation.statistics import (
    bootstrap_interval,
    improvement_over_tasks,
    interquartile_mean,
    mcnemar_p_value,
    paired_difference,
    paired_improvement,
    performance_profile,
    probability_of_improvement,
    scores_of_rate,
    t_quantile,
    wilson_interval,
)

stats = pytest.importorskip("scipy.stats")


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 13])
def test_iqm_is_the_trimmed_mean_of_scipy(count):
    values = rng(count).normal(size=(5, count))
    expected = stats.trim_mean(values, 0.25, axis=-1)
    assert interquartile_mean(values) == pytest.approx(expected)


def test_one_outlier_does_not_move_the_iqm():
    values = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 400.0]])
    assert interquartile_mean(values).tolist() == [2.5, 2.5]


@pytest.mark.parametrize("freedom", [1, 4, 20, 21, 50, 1000])
def test_quantiles_of_students_t_are_those_of_scipy(freedom):
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-4)


@pytest.mark.parametrize(("successes", "total"), [(0, 10), (3, 10), (90, 100), (400, 400)])
def test_wilson_intervals_are_those_of_scipy(successes, total):
    expected = stats.binomtest(successes, total).proportion_ci(method="wilson")
    low, high = wilson_interval(successes, total)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-6)


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 0), (1, 5), (10, 10), (700, 600)])
def test_mcnemar_is_the_binomial_test_of_the_discordant_episodes(only_first, only_second):
    total = only_first + only_second
    expected = stats.binomtest(only_first, total).pvalue if total else 1.0
    assert mcnemar_p_value(only_first, only_second) == pytest.approx(expected)


def test_bootstrap_over_episodes_is_that_of_scipy():
    scores = rng(1).exponential(size=120)
    ours = bootstrap_interval([scores[None]], rng(), samples=5000)
    theirs = stats.bootstrap(
        (scores,), np.mean, n_resamples=5000, method="percentile", rng=rng(2)
    ).confidence_interval
    assert ours.value == pytest.approx(scores.mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=0.02)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    draws = (rng(seed).random((1, 150)) < 0.7 for seed in range(200))
    intervals = [bootstrap_interval([x.astype(float)], rng(), samples=400) for x in draws]
    covered = np.mean([low <= 0.7 <= high for _, low, high in intervals])
    assert 0.89 <= covered <= 0.99


def test_seeds_that_differ_widen_the_interval_and_tasks_that_differ_do_not():
    by_seed = np.repeat([[0.0], [1.0], [0.0], [1.0]], 50, axis=1)
    over_seeds = bootstrap_interval([by_seed], rng())
    assert over_seeds.high - over_seeds.low >= 0.5
    over_tasks = bootstrap_interval([by_seed[:1], by_seed[1:2]], rng())
    assert over_tasks == (0.5, 0.5, 0.5)


def test_results_depend_on_the_seed_alone():
    scores = rng(3).normal(size=(3, 40))
    assert bootstrap_interval([scores], rng(7)) == bootstrap_interval([scores], rng(7))
    assert bootstrap_interval([scores], rng(7)) != bootstrap_interval([scores], rng(8))


def test_pairing_removes_what_episodes_have_in_common():
    hardness = rng(4).normal(size=300)
    first, second = hardness + 0.1, hardness
    paired = paired_difference(first, second, rng())
    assert paired == pytest.approx((0.1, 0.1, 0.1))
    assert paired_improvement(first, second, rng()) == (1.0, 1.0, 1.0)
    assert 0.5 < probability_of_improvement(first, second) < 0.6


def test_probability_of_improvement_is_the_mann_whitney_statistic():
    first = rng(5).integers(0, 6, 40).astype(float)
    second = rng(6).integers(0, 6, 30).astype(float)
    expected = stats.mannwhitneyu(first, second).statistic / (40 * 30)
    assert probability_of_improvement(first, second) == pytest.approx(expected)
    assert probability_of_improvement(second, first) == pytest.approx(1 - expected)


def test_probability_of_improvement_over_tasks_averages_the_tasks():
    low, high = np.zeros((3, 10)), np.ones((2, 10))
    assert improvement_over_tasks([high, low], [low, high], rng()).value == 0.5
    assert improvement_over_tasks([high, high], [low, low], rng()) == (1.0, 1.0, 1.0)


def test_a_performance_profile_is_one_minus_the_empirical_distribution():
    scores = rng(8).random((2, 50))
    thresholds = np.linspace(-0.1, 1.1, 13)
    profile, low, high = performance_profile(scores, thresholds, rng())
    expected = 1 - stats.ecdf(scores.ravel()).cdf.evaluate(thresholds)
    assert profile == pytest.approx(expected)
    assert (np.diff(profile) <= 0).all()
    assert ((low <= profile + 1e-12) & (profile <= high + 1e-12)).all()


def test_rates_turn_back_into_episodes():
    scores = scores_of_rate(0.985, 400)
    assert scores.shape == (1, 400)
    assert scores.mean() == pytest.approx(0.985)


def test_scores_that_cannot_be_are_refused():
    with pytest.raises(BadValueError, match="shape"):
        bootstrap_interval([np.zeros(5)], rng())
    with pytest.raises(BadValueError, match="finite"):
        bootstrap_interval([np.array([[np.nan]])], rng())
    with pytest.raises(BadValueError, match="same episodes"):
        paired_difference(np.zeros(3), np.zeros(4), rng())
    with pytest.raises(BadValueError, match="at least one task"):
        bootstrap_interval([], rng())
