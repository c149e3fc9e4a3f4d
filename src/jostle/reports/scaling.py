"""How well an agent does against the number of cubes: a straight line through a study's rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_FEWEST = 3
"""Numbers of cubes that a line needs to say anything."""
Points = dict[int, float]
"""Average return by number of cubes."""


class Line(NamedTuple):
    """A straight line, and how well it fits."""

    start: float
    slope: float
    explained: float
    """Part of the variance that it explains (R²)."""


def line_through(points: Mapping[int, float]) -> Line:
    """The line of least squares."""
    x, y = np.array([*points]), np.array([*points.values()])
    slope, start = np.polyfit(x, y, 1)
    whole = np.square(y - y.mean()).sum()
    rest = np.square(y - start - slope * x).sum()
    return Line(float(start), float(slope), float(1 - rest / whole) if whole > 0 else 1.0)


def by_cubes(rows: Sequence[Mapping[str, Any]]) -> dict[str, Points]:
    """Average returns of agents that met at least three numbers of cubes, in scattered goals."""
    found: dict[str, Points] = {}
    for row in rows:
        if not row.get("waits") and row["task"].endswith(("Cube", "Cubes")):
            found.setdefault(row["agent"], {})[row["objects"]] = row["average_return"]
    enough = {name: points for name, points in found.items() if len(points) >= _FEWEST}
    return {name: dict(sorted(points.items())) for name, points in enough.items()}


def told(rows: Sequence[Mapping[str, Any]]) -> str:
    """One sentence per agent; nothing if nobody met enough numbers of cubes."""
    lines = []
    for name, points in by_cubes(rows).items():
        line, counts = line_through(points), ", ".join(map(str, points))
        lines.append(
            f"Average return of `{name}` with N = {counts} cubes: "
            f"{line.start:.3f} {line.slope:+.3f} N, R² {line.explained:.3f}."
        )
    return "\n\n".join(lines)


def draw_scaling(rows: Sequence[Mapping[str, Any]], out: Path) -> Path | None:
    """Draw average return against the number of cubes, and the lines; None if there are none."""
    found = by_cubes(rows)
    if not found:
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    for number, (name, points) in enumerate(found.items()):
        line, color = line_through(points), f"C{number}"
        x = np.array([*points])
        axes.plot(x, [*points.values()], color, marker="o", linestyle="", label=name)
        axes.plot(x, line.start + line.slope * x, color, linewidth=0.8)
    axes.set(xlabel="cubes", ylabel="average return")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return out
