"""Learning curves: evaluation or validation results of runs, with a band over seeds."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, require
from jostle.core.files import write_json
from jostle.evaluation.statistics import t_quantile
from jostle.reports.plot_style import plot_style, save_figure, series_style
from jostle.runs.run_dir import RunDir

XAxis = Literal["env-steps", "updates", "minutes"]
Rows = Sequence[Mapping[str, Any]]
"""Metrics of the evaluations of one run."""
Values = NDArray[np.float64]
_MINUTES = ("seconds", "minutes of training", 60.0)
_MIN_SEEDS = 5
"""Seeds from which on a band is a 95 % interval; with fewer it is the range of the values."""
_MAX_MARKERS = 40
"""Curves with more points are drawn without markers."""


class PlotStyle(NamedTuple):
    """How the learning curves of one kind of run are plotted."""

    title: str
    """Title of the figure."""
    panels: tuple[tuple[str, str], ...]
    """For each panel: metric key and label of its y axis."""
    x_axes: Mapping[str, tuple[str, str, float]]
    """For each x axis: metric key, label, and the unit it is divided by."""
    fraction: bool
    """Whether the values lie between 0 and 1; others get a logarithmic axis if positive."""


_STEPS = ("step", "gradient steps", 1.0)
_AGENT_AXES = {
    "env-steps": ("env_steps", "environment steps", 1.0),
    "updates": ("updates", "updates", 1.0),
    "minutes": _MINUTES,
}
_STYLES = (
    PlotStyle(
        "Evaluations during training",
        (("success", "success rate"), ("success_fraction", "fraction of objects at their goals")),
        _AGENT_AXES,
        True,
    ),
    PlotStyle(
        "Evaluations by images during training",
        (("image_success", "success by images"), ("image_distance", "distance by images (m)")),
        _AGENT_AXES,
        True,
    ),
    PlotStyle(
        "Validations during pretraining",
        (("val_loss", "validation loss"), ("val_reconstruction", "its reconstruction part")),
        {"env-steps": _STEPS, "updates": _STEPS, "minutes": _MINUTES},
        False,
    ),
)
"""Styles for runs of agents, by truth and by images, and of encoders."""


class SeedSummary(NamedTuple):
    """Runs that differ in their seed, at common points of the x axis; all (T,)."""

    x: Values
    mean: Values
    low: Values
    high: Values
    band: str
    """What the band from `low` to `high` is."""


def read_learning_curve(run: RunDir) -> list[dict[str, Any]]:
    """Read the metric rows of a run that hold evaluation or validation results; may be empty.

    Steps, updates and seconds of a curriculum count from its first stage.
    """
    if not run.metrics.is_file() and not run.experiment.is_file():
        raise BadValueError(f"There are no metrics at {run.metrics}. Is it a run directory?")
    before = _before(run)
    return [
        {**row, **{key: row[key] + before[key] for key in before if key in row}}
        for row in run.rows()
        if any(style.panels[0][0] in row for style in _STYLES)
    ]


def _before(run: RunDir) -> dict[str, float]:
    """What the stages of a curriculum took before the last one, which the run itself holds."""
    ends = [stage.rows()[-1] for stage in run.stages() if stage.rows()]
    return {
        key: sum(row.get(key, 0) for row in ends) for key in ("env_steps", "updates", "seconds")
    }


def summarize_seeds(curves: Sequence[tuple[Values, Values]]) -> SeedSummary | None:
    """Mean and band of several curves (x, y) where all of them are defined; None if nowhere."""
    start, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    x = np.unique(np.concatenate([x for x, _ in curves]))
    x = x[(x >= start) & (x <= end)]
    if not len(x):
        return None
    values = np.stack([np.interp(x, *curve) for curve in curves])  # (seeds, T)
    mean = values.mean(0)
    if len(curves) < _MIN_SEEDS:
        return SeedSummary(x, mean, values.min(0), values.max(0), "min to max")
    half = t_quantile(len(curves) - 1) * values.std(0, ddof=1) / math.sqrt(len(curves))
    return SeedSummary(x, mean, mean - half, mean + half, "95 % interval")


def plot_learning_curves(
    curves: Mapping[str, Sequence[Rows]], out: Path, x_axis: XAxis = "env-steps", title: str = ""
) -> Path:
    """Plot runs by name, each name with one run or with several that differ in their seed.

    Agents: success rate, and fraction of objects at their goals. Encoders: validation loss, and
    its reconstruction part.
    """
    require(
        all(rows for runs in curves.values() for rows in runs), "A run has no evaluation to plot."
    )
    style, *others = [_style(rows) for runs in curves.values() for rows in runs]
    require(
        all(other == style for other in others),
        "Runs of agents and of encoders have no common axis: plot them separately.",
    )
    check_format(out)
    with plot_style():
        return save_figure(_figure(curves, style, x_axis, title or style.title), out)


def _figure(
    curves: Mapping[str, Sequence[Rows]], style: PlotStyle, x_axis: XAxis, title: str
) -> Any:
    """All panels, with one legend below them."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = 1 if max(map(len, curves)) > 40 else min(len(curves), 2)
    legend_rows = -(-len(curves) // columns)
    layout = ConstrainedLayoutEngine(w_pad=0.1)
    figure = Figure(figsize=(10, 4 + 0.19 * legend_rows), layout=layout)
    panels = figure.subplots(1, len(style.panels), sharey=style.fraction)
    for axes, (metric, label) in zip(panels, style.panels, strict=True):
        for number, (name, runs) in enumerate(curves.items()):
            points = [_points(rows, style.x_axes[x_axis], metric) for rows in runs]
            _plot_runs(axes, name, series_style(number), [(x, y) for x, y in points if len(x)])
        _label_axes(axes, style, style.x_axes[x_axis][1], label)
    figure.suptitle(title)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    return figure


def write_curve_data(
    curves: Mapping[str, Sequence[Rows]], path: Path, x_axis: XAxis, title: str
) -> None:
    """Write what `redraw_learning_curves` needs to draw the same plot without the runs."""
    axes = [axis for style in _STYLES for axis, _, _ in style.x_axes.values()]
    keys = {*axes, *(metric for style in _STYLES for metric, _ in style.panels)}
    few = {
        name: [[{key: row[key] for key in row if key in keys} for row in rows] for rows in runs]
        for name, runs in curves.items()
    }
    write_json(path, {"title": title, "x": x_axis, "names": list(few), "curves": few})


def redraw_learning_curves(data: Path, out: Path) -> Path:
    """Plot what `write_curve_data` wrote."""
    try:
        stored = json.loads(data.read_text())
        curves = {name: stored["curves"][name] for name in stored["names"]}
        x_axis, title = stored["x"], stored["title"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise BadValueError(f"{data} holds no learning curves ({error}).") from error
    return plot_learning_curves(curves, out, x_axis, title)


def check_format(out: Path) -> None:
    """Refuse files of a format that matplotlib cannot write."""
    from matplotlib.figure import Figure

    formats = sorted(Figure().canvas.get_supported_filetypes())
    require(
        out.suffix[1:].lower() in formats,
        f"A plot cannot be written as '{out.name}': its name must end in one of "
        f".{', .'.join(formats)}.",
    )


def _plot_runs(
    axes: Any, name: str, series: dict[str, Any], curves: list[tuple[Values, Values]]
) -> None:
    """Draw one run, or the mean and the band of several; without common points, each of them."""
    summary = summarize_seeds(curves) if len(curves) > 1 else None
    if summary is not None:
        x, color = summary.x, series["color"]
        tails = any(own[0] < x[0] or own[-1] > x[-1] for own, _ in curves)
        band = f"band: {summary.band}" + (", dotted: single seeds" if tails else "")
        label = f"{name} (mean of {len(curves)} seeds, {band})"
        _plot_line(axes, x, summary.mean, series, label)
        axes.fill_between(x, summary.low, summary.high, color=color, alpha=0.2, linewidth=0)
        if len(x) == 1:  # a band of no width
            axes.vlines(x, summary.low, summary.high, color, alpha=0.5)
        for own, y in curves:  # where only some of the runs have values
            for part in ([*own[own < x[0]], x[0]], [x[-1], *own[own > x[-1]]]):
                values = np.interp(part, own, y)
                axes.plot(part, values, color, linewidth=0.8, alpha=0.5, linestyle=":")
        return
    for number, (x, y) in enumerate(curves):
        several = f" ({len(curves)} seeds without common points)" if len(curves) > 1 else ""
        _plot_line(axes, x, y, series, f"{name}{several}" if number == 0 else None)


def _plot_line(axes: Any, x: Values, y: Values, series: dict[str, Any], label: str | None) -> None:
    """Draw a curve with markers at its points; a single point is large and above the others."""
    marker = series["marker"] if len(x) <= _MAX_MARKERS else None
    size, order = (7.5, 4) if len(x) == 1 else (4, 2)
    axes.plot(x, y, **series | {"label": label, "marker": marker}, markersize=size, zorder=order)


def _label_axes(axes: Any, style: PlotStyle, x_label: str, y_label: str) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes.set(xlabel=x_label, ylabel=y_label)
    axes.set_xlim(left=0)
    axes.tick_params(labelleft=True)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    if style.fraction:
        axes.set_ylim(-0.03, 1.03)
    elif all((line.get_ydata() > 0).all() for line in axes.lines):
        axes.set_yscale("log")


def _points(rows: Rows, x_axis: tuple[str, str, float], metric: str) -> tuple[Values, Values]:
    """Points of a curve, (T,) each; rows without one of the two metrics are left out."""
    key, _, unit = x_axis
    points = [(row[key] / unit, row[metric]) for row in rows if key in row and metric in row]
    x, y = np.array(points, float).reshape(-1, 2).T
    return x, y


def _style(rows: Rows) -> PlotStyle:
    return next(style for style in _STYLES if style.panels[0][0] in rows[0])
