"""Means over the seeds of one training."""

import pytest

from jostle.reports.seeds import mean_interval, over_seeds


def row(agent, success, training="ours", **changes):
    metrics = {
        "success_fraction": success, "average_distance": 0.01, "maximum_distance": 0.02,
        "average_return": -success,
    }  # fmt: skip
    return {
        "agent": agent, "task": "NCubes", "objects": 4, "requested_objects": 4, "success": success,
        "paper": "0.7", "target": "0.9", "training": training, "episodes": 100, **metrics,
        **changes,
    }  # fmt: skip


def test_the_interval_is_that_of_students_t():
    # Degrees of freedom 4: the quantile is 2.7764, the standard error 1.58114 / sqrt(5)
    mean, low, high = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (mean, low, high) == pytest.approx((3.0, 3.0 - 1.96324, 3.0 + 1.96324), abs=1e-4)


def test_one_seed_has_no_interval():
    assert mean_interval([0.5]) == (0.5, float("-inf"), float("inf"))
    assert "[" not in over_seeds([row("a", 0.5)]).splitlines()[-4]


def test_seeds_of_one_training_share_a_row_and_others_have_none():
    rows = [row("a", 0.8), row("b", 0.9), row("c", 0.1, training="")]
    lines = over_seeds(rows).splitlines()
    assert len([line for line in lines if line.startswith("| ours | NCubes")]) == 1
    assert "0.850 [0.215, 1.000] | 0.800 0.900 | 0.7 | 0.9 | 0.850" in lines[4]
    assert "0.100" not in over_seeds(rows)


def test_missing_seeds_are_said():
    pending = {"agent": "c", "task": "NCubes", "objects": 4, "training": "ours", "pending": True}
    pending |= {"paper": "0.7", "target": "0.9"}
    assert "| 2 of 3 |" in over_seeds([row("a", 0.8), row("b", 0.9), pending])
    assert "| 0 of 1 | queued |" in over_seeds([pending])


def test_studies_without_names_of_trainings_have_no_such_table():
    assert over_seeds([row("a", 0.8, training="")]) == ""


def test_several_seeds_are_aggregated_over_tasks_with_who_beats_whom():
    rates = {"ours": (0.9, 0.8), "theirs": (0.2, 0.3)}
    rows = [
        row(f"{name}-{seed}", rate, training=name, task=task)
        for name, seeds in rates.items()
        for seed, rate in enumerate(seeds)
        for task in ("NCubes", "AdjacentGoals")
    ]
    text = over_seeds(rows)
    assert "| ours | 2 | 2 | 0.850 [" in text
    assert "| ours | theirs | 2 | 1.000 [1.000, 1.000] |" in text
    assert over_seeds(rows) == text


def test_one_seed_is_not_aggregated():
    assert "IQM" not in over_seeds([row("a", 0.8)])
