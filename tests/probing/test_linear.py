"""Laws of linear probes."""

import numpy as np
import pytest

pytest.importorskip("torch")

from jostle.probing.linear import chosen_ridge, classifier, odds, quadratic, ridge


def test_a_linear_map_is_found_exactly(rng):
    x, matrix = rng.normal(size=(50, 4)) * (1, 10, 0.1, 3) + 5, rng.normal(size=(4, 2))
    told = ridge(x[:30], x[:30] @ matrix + 7)(x[30:])
    np.testing.assert_allclose(told, x[30:] @ matrix + 7, atol=1e-3)


def test_a_parabola_needs_squares(rng):
    x = rng.uniform(-1, 1, (100, 2))
    y = x[:, :1] ** 2 - x[:, :1] * x[:, 1:]
    told = ridge(quadratic(x), y)(quadratic(x))
    np.testing.assert_allclose(told, y, atol=1e-4)
    assert np.abs(ridge(x, y)(x) - y).max() > 0.3


def test_more_columns_than_rows_are_tamed(rng):
    x, noise = rng.normal(size=(60, 1)), rng.normal(size=(60, 200)) * 0.3
    columns = np.concatenate((np.repeat(x, 20, 1), noise), 1)
    told = chosen_ridge(columns[:40], x[:40], np.arange(40) >= 28)(columns[40:])
    assert np.abs(told - x[40:]).mean() < 0.3


def test_classes_in_a_row_are_told_apart(rng):
    labels = rng.integers(0, 5, 400)
    x = labels[:, None] + rng.uniform(-0.3, 0.3, (400, 1))
    told = classifier(x[:200], labels[:200])(x[200:])
    assert (told == labels[200:]).mean() > 0.97  # regression on one-hot classes fails here


def test_chances_add_up_to_one_and_are_those_of_the_data(rng):
    labels = np.where(rng.random(500) < 0.8, 3, 7)
    classes, chances = odds(np.ones((500, 1)), labels)
    told = np.exp(chances(np.ones((1, 1))))[0]
    assert classes.tolist() == [3, 7]
    np.testing.assert_allclose(told.sum(), 1)
    np.testing.assert_allclose(told[0], (labels == 3).mean(), atol=1e-3)


def test_columns_that_never_change_are_ignored(rng):
    x, labels = rng.normal(size=(80, 2)), np.arange(80) % 3
    x[:, 0] = 4.0
    told = classifier(x[:, :1], labels)(np.array([[4.0], [1e6]]))
    assert (told == np.bincount(labels).argmax()).all()
    assert np.isfinite(ridge(x, x[:, 1:])(x)).all()
