"""Linear fits through the rows of a study."""

import pytest

from jostle.reports.scaling import describe, fit_line, plot_scaling, returns_by_cubes


def row(agent: str, objects: int, value: float, task: str = "NCubes") -> dict:
    return {"agent": agent, "objects": objects, "average_return": value, "task": task}


STUDY = [
    row("a", 3, -0.7), row("a", 1, -0.3), row("a", 2, -0.5), row("b", 1, -0.1),
    row("a", 3, -9.0, "AdjacentGoals"), {"agent": "c", "task": "NCubes", "pending": True},
]  # fmt: skip


def test_a_straight_line_is_fitted_exactly():
    line = fit_line({1: -0.3, 2: -0.5, 4: -0.9})
    assert line == pytest.approx((-0.1, -0.2, 1.0))
    assert fit_line({1: 0.0, 2: 1.0, 3: 0.0}).r_squared == pytest.approx(0.0)


def test_only_agents_with_three_numbers_of_cubes_are_fitted():
    assert returns_by_cubes(STUDY) == {"a": {1: -0.3, 2: -0.5, 3: -0.7}}
    assert describe(STUDY) == (
        "Average return of `a` with N = 1, 2, 3 cubes: -0.100 -0.200 N, R² 1.000."
    )


def test_fixed_and_random_colors_are_not_joined_by_one_line():
    fixed = [row("a", count, -0.1 * count) for count in (1, 2, 3)]
    random = [{**row("a", count, -0.3 * count), "colors": "random"} for count in (1, 2, 3)]
    assert returns_by_cubes([*fixed, random[2]]) == {"a": {1: -0.1, 2: -0.2, 3: -0.1 * 3}}
    both = returns_by_cubes([*fixed, *random])
    assert list(both) == ["a (fixed colors)", "a (random colors)"]
    assert both["a (random colors)"][3] == -0.3 * 3


def test_there_is_a_plot_only_if_there_is_a_fit(tmp_path):
    pytest.importorskip("matplotlib")
    assert plot_scaling(STUDY[3:], tmp_path / "a.png") is None
    path = plot_scaling(STUDY, tmp_path / "a.png")
    assert path is not None
    assert path.stat().st_size > 1000
