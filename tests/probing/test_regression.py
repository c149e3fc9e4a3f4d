"""Ridge and logistic regression."""

import numpy as np
import pytest

pytest.importorskip("torch")

from jostle.probing.regression import (
    classifier,
    logistic_regression,
    quadratic_features,
    ridge,
    tuned_ridge,
)


def test_ridge_recovers_a_linear_map(rng):
    x, matrix = rng.normal(size=(50, 4)) * (1, 10, 0.1, 3) + 5, rng.normal(size=(4, 2))
    predicted = ridge(x[:30], x[:30] @ matrix + 7)(x[30:])
    np.testing.assert_allclose(predicted, x[30:] @ matrix + 7, atol=1e-3)


def test_quadratic_features_fit_a_parabola(rng):
    x = rng.uniform(-1, 1, (100, 2))
    y = x[:, :1] ** 2 - x[:, :1] * x[:, 1:]
    predicted = ridge(quadratic_features(x), y)(quadratic_features(x))
    np.testing.assert_allclose(predicted, y, atol=1e-4)
    assert np.abs(ridge(x, y)(x) - y).max() > 0.3


def test_tuned_ridge_handles_more_columns_than_samples(rng):
    x, noise = rng.normal(size=(60, 1)), rng.normal(size=(60, 200)) * 0.3
    columns = np.concatenate((np.repeat(x, 20, 1), noise), 1)
    predicted = tuned_ridge(columns[:40], x[:40], np.arange(40) >= 28)(columns[40:])
    assert np.abs(predicted - x[40:]).mean() < 0.3


def test_the_classifier_separates_classes_along_one_axis(rng):
    labels = rng.integers(0, 5, 400)
    x = labels[:, None] + rng.uniform(-0.3, 0.3, (400, 1))
    predicted = classifier(x[:200], labels[:200])(x[200:])
    assert (predicted == labels[200:]).mean() > 0.97  # regression on one-hot classes fails here


def test_probabilities_sum_to_one_and_match_the_frequencies(rng):
    labels = np.where(rng.random(500) < 0.8, 3, 7)
    classes, log_probs = logistic_regression(np.ones((500, 1)), labels)
    probs = np.exp(log_probs(np.ones((1, 1))))[0]
    assert classes.tolist() == [3, 7]
    np.testing.assert_allclose(probs.sum(), 1)
    np.testing.assert_allclose(probs[0], (labels == 3).mean(), atol=1e-3)


def test_constant_columns_are_ignored(rng):
    x, labels = rng.normal(size=(80, 2)), np.arange(80) % 3
    x[:, 0] = 4.0
    predicted = classifier(x[:, :1], labels)(np.array([[4.0], [1e6]]))
    assert (predicted == np.bincount(labels).argmax()).all()
    assert np.isfinite(ridge(x, x[:, 1:])(x)).all()
