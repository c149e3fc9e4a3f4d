"""How far blocks are from their headings: histograms, as the paper draws them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def turned(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of a study in which headings were measured."""
    return [row for row in rows if row.get("angles")]


def told(rows: Sequence[Mapping[str, Any]]) -> str:
    """One sentence per row; nothing if no headings were measured."""
    return "\n\n".join(
        f"`{row['agent']}` with {row['objects']} block{'s' if row['objects'] > 1 else ''}: half of "
        f"the headings are within {row['median_distance']:.3f} rad of the goal."
        for row in turned(rows)
    )


def draw_angles(rows: Sequence[Mapping[str, Any]], out: Path) -> Path:
    """Draw one histogram per row, side by side, in shares of all blocks."""
    from matplotlib.figure import Figure

    found = turned(rows)
    figure = Figure(figsize=(3.2 * len(found), 2.8), layout="constrained")
    for axes, row in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
        counts = np.array(row["angles"])
        edges = np.linspace(0, math.pi, len(counts) + 1)
        axes.bar(edges[:-1], counts / counts.sum(), width=edges[1], align="edge")
        axes.axvline(row["median_distance"], color="C1", linewidth=1.2, label="median")
        axes.set(title=f"{row['agent']}, {row['objects']}", xlabel="error (rad)", xlim=(0, math.pi))
        axes.title.set_fontsize(8)
        axes.legend(fontsize=7)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return out
