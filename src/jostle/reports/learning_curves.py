"""Learning curves: evaluation or validation results over updates and over minutes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jostle.core.errors import BadValueError, require


class PlotStyle(NamedTuple):
    """How the learning curves of one kind of run are plotted."""

    metric: str
    """Metric key of the solid line."""
    dotted_metric: str
    """Metric key of the thin dotted line."""
    panels: tuple[tuple[str, str, float], ...]
    """For each panel: metric key of the x axis, its label, and the unit it is divided by."""
    y_label: str
    """Label of the y axis."""
    y_axis: dict[str, Any]
    """Options of the y axis."""


_MINUTES = ("seconds", "minutes of training", 60.0)
_STYLES = (
    PlotStyle(
        "success", "success_fraction", (("updates", "updates", 1.0), _MINUTES),
        "success (dotted: fraction)", {"ylim": (-0.02, 1.02)},
    ),
    PlotStyle(
        "val_loss", "val_reconstruction", (("step", "steps", 1.0), _MINUTES),
        "validation loss (dotted: pixels)", {"yscale": "log"},
    ),
)  # fmt: skip
"""Styles for runs of agents, and of encoders."""


def read_learning_curve(metrics: Path) -> list[dict[str, Any]]:
    """Read the metric rows of a run that hold evaluation or validation results."""
    if not metrics.is_file():
        raise BadValueError(f"There are no metrics at {metrics}. Is it a run directory?")
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    evaluated = [row for row in rows if any(style.metric in row for style in _STYLES)]
    if not evaluated:
        raise BadValueError(f"There is no evaluation in {metrics} yet: train a little longer.")
    return evaluated


def plot_learning_curves(curves: Mapping[str, Sequence[Mapping[str, Any]]], out: Path) -> Path:
    """Plot runs by name.

    Agents: success rate, and dotted the fraction of objects at their goals. Encoders: validation
    loss, and dotted its reconstruction part.
    """
    from matplotlib.figure import Figure

    style, *others = [_style(rows) for rows in curves.values()]
    require(
        all(other == style for other in others),
        "Runs of agents and of encoders have no common axis: plot them separately.",
    )
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 2, sharey=True), style.panels, strict=True):
        _plot_panel(axes, curves, style, panel)
    figure.axes[0].set_ylabel(style.y_label)
    figure.axes[0].legend(fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return out


def _style(rows: Sequence[Mapping[str, Any]]) -> PlotStyle:
    return next(style for style in _STYLES if style.metric in rows[0])


def _plot_panel(
    axes: Any,
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    style: PlotStyle,
    panel: tuple[str, str, float],
) -> None:
    key, label, unit = panel
    for number, (name, rows) in enumerate(curves.items()):
        plotted = [row for row in rows if key in row]
        if not plotted:
            continue
        x, color = [row[key] / unit for row in plotted], f"C{number}"
        axes.plot(x, [row[style.metric] for row in plotted], color, label=name)
        dotted = [row[style.dotted_metric] for row in plotted]
        axes.plot(x, dotted, color, linewidth=0.8, linestyle=":")
    axes.set(xlabel=label, **style.y_axis)
    axes.grid(alpha=0.3)
