"""Histograms of yaw errors, as in the paper."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jostle.reports.plot_style import PALETTE, plot_style, save_figure


def rows_with_yaw(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of a study in which yaw errors were measured."""
    return [row for row in rows if row.get("yaw_error_histogram")]


def describe(rows: Sequence[Mapping[str, Any]]) -> str:
    """One sentence per row; empty if no yaw errors were measured."""
    return "\n\n".join(
        f"`{row['agent']}` with {row['objects']} block{'s' if row['objects'] > 1 else ''}: "
        f"median yaw error {row['median_distance']:.3f} rad."
        for row in rows_with_yaw(rows)
    )


def plot_yaw_errors(rows: Sequence[Mapping[str, Any]], out: Path) -> Path:
    """Plot one histogram per row, side by side, as percentages of all blocks."""
    with plot_style():
        return save_figure(_figure(rows_with_yaw(rows)), out)


def _figure(rows: Sequence[Mapping[str, Any]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(4.5, 3.3 * len(rows)), 3.3), layout="constrained")
    panels = figure.subplots(1, len(rows), squeeze=False, sharey=True)[0]
    for axes, row in zip(panels, rows, strict=True):
        counts, median = np.array(row["yaw_error_histogram"]), row["median_distance"]
        edges = np.linspace(0, 180, len(counts) + 1)
        percent = 100 * counts / counts.sum()
        axes.bar(
            edges[:-1], percent, width=edges[1], align="edge", color=PALETTE[0], edgecolor="white",
            linewidth=0.5,
        )  # fmt: skip
        label = f"median {math.degrees(median):.0f}° ({median:.2f} rad)"
        axes.axvline(math.degrees(median), color=PALETTE[1], linestyle="--", label=label)
        blocks = "1 block" if row["objects"] == 1 else f"{row['objects']} blocks"
        axes.set(title=f"{row['agent']}, {blocks}", xlabel="yaw error (degrees)", xlim=(0, 180))
        axes.title.set_fontsize(9)
        axes.set_xticks(range(0, 181, 45))
        axes.legend()
    panels[0].set_ylabel("blocks (%)")
    figure.suptitle("Yaw errors at the last step")
    return figure
