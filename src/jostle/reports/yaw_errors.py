"""Histograms of yaw errors, as in the paper."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


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
    """Plot one histogram per row, side by side, as fractions of all blocks."""
    from matplotlib.figure import Figure

    shown = rows_with_yaw(rows)
    figure = Figure(figsize=(3.2 * len(shown), 2.8), layout="constrained")
    for axes, row in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        counts = np.array(row["yaw_error_histogram"])
        edges = np.linspace(0, math.pi, len(counts) + 1)
        axes.bar(edges[:-1], counts / counts.sum(), width=edges[1], align="edge")
        axes.axvline(row["median_distance"], color="C1", linewidth=1.2, label="median")
        axes.set(
            title=f"{row['agent']}, {row['objects']}", xlabel="yaw error (rad)", xlim=(0, math.pi)
        )
        axes.title.set_fontsize(8)
        axes.legend(fontsize=7)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return out
