"""Histograms of yaw errors."""

import math

import numpy as np

from jostle.evaluation.evaluate import ANGLE_BINS, yaw_error_histogram
from jostle.reports.yaw_errors import describe, plot_yaw_errors, rows_with_yaw

ROWS = [
    {
        "agent": "a",
        "task": "PushT",
        "objects": 2,
        "median_distance": 0.25,
        "yaw_error_histogram": [3] * 18,
    },
    {"agent": "b", "task": "ThreeCubes", "objects": 3, "median_distance": 0.01},
    {"agent": "c", "task": "PushT", "objects": 1, "pending": True},
]


def test_every_error_is_in_one_bin():
    errors = np.random.default_rng(0).uniform(0, math.pi, 500)
    counts = yaw_error_histogram(np.append(errors, (0.0, math.pi)))
    assert len(counts) == ANGLE_BINS
    assert sum(counts) == 502
    assert yaw_error_histogram(np.array((0.1, 0.1, 3.0))) == [2] + [0] * 16 + [1]


def test_only_yaw_errors_are_described_and_plotted(tmp_path):
    assert rows_with_yaw(ROWS) == ROWS[:1]
    assert "2 blocks: median yaw error 0.250 rad" in describe(ROWS)
    assert describe(ROWS[1:]) == ""
    assert plot_yaw_errors(ROWS, tmp_path / "angles.png").stat().st_size > 0
