"""First contact, point 14: `jostle plot` draws seeds as bands, and skips runs without results."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from jostle.cli.main import main
from jostle.core.errors import BadValueError
from jostle.reports.learning_curves import (
    plot_learning_curves,
    redraw_learning_curves,
    summarize_seeds,
)
from jostle.reports.plot_style import PALETTE, series_style
from jostle.reports.seed_groups import group_by_experiment
from jostle.runs.run_dir import RunDir


def write_run(folder, name="push", seed=0, success=(0.1, 0.5, 0.9), start=(), **training):
    """A run with an evaluation after every 100 environment steps."""
    folder.mkdir(parents=True)
    training = {"lr": 0.1, "threads": seed, **training}
    config = {"name": name, "seed": seed, "training": training}
    (folder / "experiment.json").write_text(json.dumps(config))
    (folder / "history.json").write_text(json.dumps([{"recipe": recipe} for recipe in start]))
    rows = [{"iteration": 0, "env_steps": 0, "seconds": 0.1}]
    for number, value in enumerate(success, 1):
        rows.append(
            {
                "env_steps": 100 * number, "updates": 10 * number, "seconds": 60.0 * number + seed,
                "success": value, "success_fraction": value,
            }
        )  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return RunDir(folder)


@pytest.fixture
def drawn(monkeypatch):
    """Figures in the order in which they were saved, with their resolution."""
    figures = []
    save = Figure.savefig

    def record(self, out, dpi):
        save(self, out, dpi=dpi)
        figures.append((self, dpi))

    monkeypatch.setattr(Figure, "savefig", record)
    return figures


@pytest.fixture
def plot(tmp_path, monkeypatch, capsys):
    """Run `jostle plot`; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["jostle", "plot", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return stopped.value.code, captured.out, captured.err

    return run


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def lines(axes):
    """Labeled lines, by their label."""
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def test_point_14_seeds_of_one_experiment_become_a_line_with_a_band(plot, tmp_path, drawn):
    for seed, success in enumerate(((0.0, 0.4), (0.2, 0.6), (0.1, 0.8))):
        write_run(tmp_path / f"push-{seed}", seed=seed, success=success)
    write_run(tmp_path / "other-0", name="other", lr=0.2)
    code, output, _ = plot("push-0", "other-0", "push-1", "push-2")
    assert (code, output) == (0, "plot: curves.png\n")
    ((figure, dpi),) = drawn
    assert dpi >= 200
    assert labels(figure) == ["push (mean of 3 seeds, band: min to max)", "other-0"]
    for axes in figure.axes:
        line = lines(axes)["push (mean of 3 seeds, band: min to max)"]
        np.testing.assert_allclose(line.get_xdata(), [100, 200])
        np.testing.assert_allclose(line.get_ydata(), [0.1, 0.6])
        band = axes.collections[0].get_paths()[0].vertices
        assert band[:, 1].min() == 0.0
        assert band[:, 1].max() == 0.8


def test_point_14_lines_per_seed_on_request(plot, tmp_path, drawn):
    for seed in (0, 1):
        write_run(tmp_path / f"push-{seed}", seed=seed)
    assert plot("push-0", "push-1", "--per-seed")[0] == 0
    assert labels(drawn[0][0]) == ["push-0", "push-1"]
    assert not drawn[0][0].axes[0].collections
    code, _, error = plot("push-0", "push-1", "--names", "a", "b")
    assert code == 2
    assert "1 lines, names a, b" in error
    assert plot("push-0", "push-1", "--names", "a", "b", "--per-seed")[0] == 0
    assert labels(drawn[-1][0]) == ["a", "b"]


def test_point_14_runs_without_evaluations_are_skipped_with_a_message(plot, tmp_path, drawn):
    write_run(tmp_path / "push-0")
    write_run(tmp_path / "new-0", success=())
    write_run(tmp_path / "newer-0").metrics.unlink()
    code, output, _ = plot("new-0", "push-0", "newer-0")
    assert code == 0
    assert output.splitlines() == [
        "skipped: new-0 has no evaluation yet", "skipped: newer-0 has no evaluation yet",
        "plot: curves.png",
    ]  # fmt: skip
    assert labels(drawn[0][0]) == ["push-0"]
    code, _, error = plot("new-0", "newer-0")
    assert code == 2
    assert "None of these runs has an evaluation yet" in error
    (tmp_path / "push-0/metrics.jsonl").write_text("{\n{}\n")
    code, _, error = plot("push-0")
    assert code == 2
    assert "metrics.jsonl is damaged" in error


@pytest.mark.parametrize(
    ("axis", "label", "last"),
    [
        ("env-steps", "environment steps", 300),
        ("updates", "updates", 30),
        ("minutes", "minutes of training", 3),
    ],
)
def test_point_14_the_x_axis_is_chosen(axis, label, last, plot, tmp_path, drawn):
    write_run(tmp_path / "push-0")
    assert plot("push-0", "--x", axis, "--out", "a.svg", "--title", "My runs")[0] == 0
    figure = drawn[0][0]
    assert figure.get_suptitle() == "My runs"
    for axes in figure.axes:
        assert axes.get_xlabel() == label
        assert lines(axes)["push-0"].get_xdata()[-1] == last


def test_point_14_single_points_are_visible_and_texts_do_not_overlap(plot, tmp_path, drawn):
    write_run(tmp_path / "push-0", success=(0.5,))
    write_run(tmp_path / "long-0", name="long", success=[0.1] * 9)
    assert plot("push-0", "long-0")[0] == 0
    figure = drawn[0][0]
    assert figure.get_suptitle()
    point, curve = (lines(figure.axes[0])[name] for name in ("push-0", "long-0"))
    assert point.get_marker() == "o"
    assert point.get_markersize() > curve.get_markersize() > 0
    figure.draw_without_rendering()
    texts = [figure.legends[0]]
    for axes in figure.axes:
        texts += [axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = axis.get_view_interval()
            ticks = axis.get_major_ticks()
            texts += [tick.label1 for tick in ticks if low <= tick.get_loc() <= high]
    for index, text in enumerate(texts):
        for other in texts[index + 1 :]:
            overlap = text.get_window_extent().overlaps(other.get_window_extent())
            assert not overlap, f"{text} overlaps {other}"


def test_point_14_tails_of_longer_runs_are_dotted(tmp_path, drawn):
    runs = [
        [
            {"env_steps": step, "success": value, "success_fraction": value}
            for step, value in enumerate(values, 1)
        ]
        for values in ((0.1, 0.2), (0.3, 0.4, 0.5, 0.6))
    ]
    plot_learning_curves({"push": runs}, tmp_path / "a.png")
    axes = drawn[0][0].axes[0]
    assert "dotted: single seeds" in labels(drawn[0][0])[0]
    tails = [line for line in axes.lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose(max((t.get_ydata() for t in tails), key=len), [0.4, 0.5, 0.6])


def test_point_14_the_band_is_an_interval_from_five_seeds_on(rng):
    steps = np.arange(4.0)
    values = rng.normal(size=(5, 4))
    summary = summarize_seeds([(steps, row) for row in values])
    assert summary.band == "95 % interval"
    half = 2.776 * values.std(0, ddof=1) / np.sqrt(5)  # Student's t with 4 degrees of freedom
    np.testing.assert_allclose(summary.high - summary.mean, half, rtol=0.005)
    np.testing.assert_allclose(summary.mean - summary.low, half, rtol=0.005)


def test_point_14_seeds_are_interpolated_where_all_have_values():
    first = (np.array([0.0, 2.0, 4.0]), np.array([0.0, 2.0, 4.0]))
    second = (np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    summary = summarize_seeds([first, second])
    np.testing.assert_allclose(summary.x, [1, 2, 3])
    for values in (summary.mean, summary.low, summary.high):
        np.testing.assert_allclose(values, [1, 2, 3])
    assert summarize_seeds([first, (np.array([5.0]), np.array([1.0]))]) is None


def test_point_14_only_seeds_make_runs_alike(tmp_path):
    runs = [
        write_run(tmp_path / "a/push-0"),
        write_run(tmp_path / "a/push-1", seed=1),
        write_run(tmp_path / "b/push-0"),  # the same seed again
        write_run(tmp_path / "c/push-2", seed=2, start=("reach",)),  # from other weights
        write_run(tmp_path / "d/push-3", seed=3, lr=0.3),
    ]
    groups = group_by_experiment(runs)
    assert list(groups.values()) == [runs[:2], runs[2:3], runs[3:4], runs[4:]]
    assert len(set(groups)) == 4


def test_point_14_formats_are_checked_before_anything_is_read(plot):
    code, _, error = plot("nowhere", "--out", "x.foo")
    assert code == 2
    assert "'x.foo'" in error
    assert ".png" in error
    with pytest.raises(BadValueError, match="no evaluation"):
        plot_learning_curves({"a": [[]]}, Path("a.png"))


def test_a_plot_is_redrawn_from_its_data_when_the_runs_are_gone(plot, tmp_path, drawn):
    write_run(tmp_path / "push-0")
    write_run(tmp_path / "a-0", name="a", success=(0.3, 0.2))
    code, output, _ = plot("push-0", "a-0", "--data", "--x", "updates", "--title", "Both")
    assert (code, output) == (0, "plot: curves.png\ndata: curves.json\n")
    redraw_learning_curves(tmp_path / "curves.json", tmp_path / "again.png")
    first, second = (figure for figure, _ in drawn)
    assert labels(first) == labels(second)
    assert second.get_suptitle() == "Both"
    for axes, other in zip(first.axes, second.axes, strict=True):
        for name, line in lines(axes).items():
            np.testing.assert_array_equal(line.get_xydata(), lines(other)[name].get_xydata())
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "curves.png").read_bytes()
    (tmp_path / "curves.json").write_text("[]")
    with pytest.raises(BadValueError, match="no learning curves"):
        redraw_learning_curves(tmp_path / "curves.json", tmp_path / "again.png")


def test_series_differ_for_any_color_vision():
    styles = [tuple(series_style(number).values()) for number in range(21)]
    assert len(set(styles)) == 21
    lightness = sorted(sum(int(color[i : i + 2], 16) for i in (1, 3, 5)) for color in PALETTE)
    assert len(set(lightness)) == len(PALETTE), "also without any color"
