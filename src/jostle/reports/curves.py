"""Learning curves: what examinations said, over updates and over minutes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jostle.core.errors import BadValueError

_PANELS = (("updates", "updates", 1.0), ("seconds", "minutes of training", 60.0))
"""Key of the horizontal axis, its name, and what it is divided by."""


def read_curve(metrics: Path) -> list[dict[str, Any]]:
    """Read the rounds of a run that were examined."""
    if not metrics.is_file():
        raise BadValueError(f"There are no metrics at {metrics}. Is it the folder of a run?")
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    found = [row for row in rows if "success" in row]
    if not found:
        raise BadValueError(f"Nothing was examined yet in {metrics}: train a little longer.")
    return found


def draw_curves(curves: Mapping[str, Sequence[Mapping[str, Any]]], out: Path) -> Path:
    """Draw success (and, thin, the fraction of objects at their goals) of runs by name."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, (key, label, unit) in zip(figure.subplots(1, 2, sharey=True), _PANELS, strict=True):
        for number, (name, rows) in enumerate(curves.items()):
            x = [row[key] / unit for row in rows if key in row]
            if not x:
                continue
            color = f"C{number}"
            axes.plot(x, [row["success"] for row in rows if key in row], color, label=name)
            axes.plot(
                x,
                [row["success_fraction"] for row in rows if key in row],
                color,
                linewidth=0.8,
                linestyle=":",
            )
        axes.set(xlabel=label, ylim=(-0.02, 1.02))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("success (dotted: fraction)")
    figure.axes[0].legend(fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return out
