"""Lines through the rows of a study."""

import pytest

from jostle.reports.scaling import by_cubes, draw_scaling, line_through, told


def row(agent: str, objects: int, value: float, task: str = "NCubes") -> dict:
    return {"agent": agent, "objects": objects, "average_return": value, "task": task}


STUDY = [
    row("a", 3, -0.7), row("a", 1, -0.3), row("a", 2, -0.5), row("b", 1, -0.1),
    row("a", 3, -9.0, "AdjacentGoals"), {"agent": "c", "task": "NCubes", "waits": True},
]  # fmt: skip


def test_a_straight_line_is_found_and_fully_explained():
    line = line_through({1: -0.3, 2: -0.5, 4: -0.9})
    assert line == pytest.approx((-0.1, -0.2, 1.0))
    assert line_through({1: 0.0, 2: 1.0, 3: 0.0}).explained == pytest.approx(0.0)


def test_only_scattered_cubes_of_at_least_three_numbers_count():
    assert by_cubes(STUDY) == {"a": {1: -0.3, 2: -0.5, 3: -0.7}}
    assert told(STUDY) == (
        "Average return of `a` with N = 1, 2, 3 cubes: -0.100 -0.200 N, R² 1.000."
    )


def test_the_picture_is_drawn_only_if_there_is_a_line(tmp_path):
    pytest.importorskip("matplotlib")
    assert draw_scaling(STUDY[3:], tmp_path / "a.png") is None
    drawn = draw_scaling(STUDY, tmp_path / "a.png")
    assert drawn is not None
    assert drawn.stat().st_size > 1000
