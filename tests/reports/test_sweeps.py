"""Tables of sweeps: differences, areas and arrivals of learning curves."""

import numpy as np
import pytest

from jostle.reports.sweeps import (
    arrival,
    difference_text,
    mean_over_training,
    sweep_table,
)


def curve(*successes, start=0, apart=100):
    """Evaluations that lie equally far apart, the first one that far behind the start."""
    return [
        {
            "env_steps": start + apart * (k + 1),
            "updates": 10 * (k + 1),
            "success": success,
            "seconds": 60 * (k + 1),
        }
        for k, success in enumerate(successes)
    ]


def cells(table, name):
    line = next(line for line in table.splitlines() if line.startswith(f"| {name} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_what_learns_earlier_has_the_larger_mean():
    early, late = curve(0.9, 0.9, 0.9, 0.9), curve(0.0, 0.0, 0.9, 0.9)
    assert mean_over_training(early) == pytest.approx(0.9 * 3.5 / 4)
    assert mean_over_training(late) == pytest.approx(0.9 * 1.5 / 4)


def test_stages_that_come_first_count_as_no_success():
    assert mean_over_training(curve(1, 1, start=200)) == pytest.approx(1.5 / 4)
    assert mean_over_training(curve(1, 1)) == pytest.approx(1.5 / 2)
    assert mean_over_training(curve(0.5)) == pytest.approx(0.25)


def test_steps_are_those_of_the_first_evaluation_that_arrives():
    assert arrival(0.5, curve(0.2, 0.5, 0.4)) == (200, 120)
    assert arrival(0.6, curve(0.2, 0.5, 0.4)) is None


def test_a_difference_has_the_interval_of_students_t():
    stats = pytest.importorskip("scipy.stats")
    first, second = [0.9, 0.8, 0.95], [0.4, 0.7, 0.5, 0.6]
    interval = stats.ttest_ind(first, second).confidence_interval(0.95)
    mean = np.mean(first) - np.mean(second)
    assert difference_text(first, second) == (
        f"{mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"
    )
    assert difference_text([0.5], second) == f"{0.5 - np.mean(second):+.3f}"


def test_settings_are_compared_with_the_first_and_lost_seeds_are_counted():
    table = sweep_table({
        "default": [curve(0.5, 1.0), curve(0.9, 0.9)],
        "worse": [curve(0.1, 0.2), []],
        "nothing": [[], []],
    })  # fmt: skip
    assert cells(table, "default")[1:5] == ["2", "0.950 [0.315, 1.000]", "1.000 0.900", ""]
    assert cells(table, "default")[-3:] == ["150", "1.5", "20"]
    assert cells(table, "worse")[1:5] == ["1 of 2", "0.200", "0.200", "-0.750"]
    assert cells(table, "worse")[-3] == "none arrives"
    assert cells(table, "nothing")[1] == "0 of 2"
