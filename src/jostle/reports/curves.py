"""Learning curves: what examinations or validations said, over updates and over minutes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jostle.core.errors import BadValueError, require


class Look(NamedTuple):
    """How the curves of one kind of run are drawn."""

    line: str
    """Key of what is drawn."""
    dotted: str
    """Key of what is drawn thin beside it."""
    panels: tuple[tuple[str, str, float], ...]
    """Key of each horizontal axis, its name, and what it is divided by."""
    label: str
    """Name of the vertical axis."""
    axis: dict[str, Any]
    """How the vertical axis goes."""


_MINUTES = ("seconds", "minutes of training", 60.0)
_LOOKS = (
    Look(
        "success", "success_fraction", (("updates", "updates", 1.0), _MINUTES),
        "success (dotted: fraction)", {"ylim": (-0.02, 1.02)},
    ),
    Look(
        "val_loss", "val_pixels", (("step", "steps", 1.0), _MINUTES),
        "validation loss (dotted: pixels)", {"yscale": "log"},
    ),
)  # fmt: skip
"""Agents, and encoders."""


def read_curve(metrics: Path) -> list[dict[str, Any]]:
    """Read the rows of a run that were examined or validated."""
    if not metrics.is_file():
        raise BadValueError(f"There are no metrics at {metrics}. Is it the folder of a run?")
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    found = [row for row in rows if any(look.line in row for look in _LOOKS)]
    if not found:
        raise BadValueError(f"Nothing was examined yet in {metrics}: train a little longer.")
    return found


def draw_curves(curves: Mapping[str, Sequence[Mapping[str, Any]]], out: Path) -> Path:
    """Draw success (and, thin, the fraction of objects at their goals) of runs by name.

    Of encoders: the validation loss, and, thin, its pixels.
    """
    from matplotlib.figure import Figure

    look, *others = [_look(rows) for rows in curves.values()]
    require(
        all(other == look for other in others),
        "Agents and encoders share no axis: draw them in two pictures.",
    )
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 2, sharey=True), look.panels, strict=True):
        _draw(axes, curves, look, panel)
    figure.axes[0].set_ylabel(look.label)
    figure.axes[0].legend(fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return out


def _look(rows: Sequence[Mapping[str, Any]]) -> Look:
    return next(look for look in _LOOKS if look.line in rows[0])


def _draw(
    axes: Any,
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    look: Look,
    panel: tuple[str, str, float],
) -> None:
    key, label, unit = panel
    for number, (name, rows) in enumerate(curves.items()):
        known = [row for row in rows if key in row]
        if not known:
            continue
        x, color = [row[key] / unit for row in known], f"C{number}"
        axes.plot(x, [row[look.line] for row in known], color, label=name)
        thin = [row[look.dotted] for row in known]
        axes.plot(x, thin, color, linewidth=0.8, linestyle=":")
    axes.set(xlabel=label, **look.axis)
    axes.grid(alpha=0.3)
