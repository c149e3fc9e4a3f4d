"""Histograms of headings."""

import math

import numpy as np

from jostle.evaluation.examine import ANGLE_BINS, angle_counts
from jostle.reports.angles import draw_angles, told, turned

ROWS = [
    {"agent": "a", "task": "PushT", "objects": 2, "median_distance": 0.25, "angles": [3] * 18},
    {"agent": "b", "task": "ThreeCubes", "objects": 3, "median_distance": 0.01},
    {"agent": "c", "task": "PushT", "objects": 1, "waits": True},
]


def test_every_error_falls_into_one_bar():
    errors = np.random.default_rng(0).uniform(0, math.pi, 500)
    counts = angle_counts(np.append(errors, (0.0, math.pi)))
    assert len(counts) == ANGLE_BINS
    assert sum(counts) == 502
    assert angle_counts(np.array((0.1, 0.1, 3.0))) == [2] + [0] * 16 + [1]


def test_only_headings_are_told_and_drawn(tmp_path):
    assert turned(ROWS) == ROWS[:1]
    assert "2 blocks: half of the headings are within 0.250 rad" in told(ROWS)
    assert told(ROWS[1:]) == ""
    assert draw_angles(ROWS, tmp_path / "angles.png").stat().st_size > 0
