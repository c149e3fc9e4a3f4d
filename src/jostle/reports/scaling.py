"""Average return against the number of cubes: a linear fit through the rows of a study."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle.reports.plot_style import plot_style, save_figure, series_style

_MIN_POINTS = 3
"""Fewest numbers of cubes for which a line is fitted."""
Points = dict[int, float]
"""Average return by number of cubes."""


class LinearFit(NamedTuple):
    """A straight line, and how well it fits."""

    intercept: float
    slope: float
    r_squared: float
    """Fraction of the variance that the line explains."""


def fit_line(points: Mapping[int, float]) -> LinearFit:
    """Fit a line by least squares."""
    x, y = np.array([*points]), np.array([*points.values()])
    slope, intercept = np.polyfit(x, y, 1)
    total = np.square(y - y.mean()).sum()
    residual = np.square(y - intercept - slope * x).sum()
    r_squared = float(1 - residual / total) if total > 0 else 1.0
    return LinearFit(float(intercept), float(slope), r_squared)


def returns_by_cubes(rows: Sequence[Mapping[str, Any]]) -> dict[str, Points]:
    """Average returns of agents evaluated with at least three numbers of cubes, by agent.

    Cubes of fixed and of random colors are two evaluations, which no line joins.
    """
    returns: dict[tuple[str, str], Points] = {}
    for row in rows:
        if not row.get("pending") and row["task"].endswith(("Cube", "Cubes")):
            key = row["agent"], str(row.get("colors", "fixed"))
            returns.setdefault(key, {})[row["objects"]] = row["average_return"]
    enough = {key: points for key, points in returns.items() if len(points) >= _MIN_POINTS}
    agents = [agent for agent, _ in enough]
    names = {
        (agent, colors): agent if agents.count(agent) == 1 else f"{agent} ({colors} colors)"
        for agent, colors in enough
    }
    return {names[key]: dict(sorted(points.items())) for key, points in enough.items()}


def describe(rows: Sequence[Mapping[str, Any]]) -> str:
    """One sentence per agent; empty if no agent was evaluated with enough numbers of cubes."""
    lines = []
    for name, points in returns_by_cubes(rows).items():
        line, counts = fit_line(points), ", ".join(map(str, points))
        lines.append(
            f"Average return of `{name}` with N = {counts} cubes: "
            f"{line.intercept:.3f} {line.slope:+.3f} N, R² {line.r_squared:.3f}."
        )
    return "\n\n".join(lines)


def plot_scaling(rows: Sequence[Mapping[str, Any]], out: Path) -> Path | None:
    """Plot average return against the number of cubes with fitted lines; None if there are none."""
    returns = returns_by_cubes(rows)
    if not returns:
        return None
    with plot_style():
        return save_figure(_figure(returns), out)


def _figure(returns: Mapping[str, Points]) -> Any:
    """Points and fitted lines, with a legend below them."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    columns = 1 if max(map(len, returns)) > 30 else min(len(returns), 2)
    figure = Figure(figsize=(6, 3.6 + 0.2 * -(-len(returns) // columns)), layout="constrained")
    axes = figure.subplots()
    for number, (name, points) in enumerate(returns.items()):
        line, series, x = fit_line(points), series_style(number), np.array([*points])
        axes.plot(x, [*points.values()], **series | {"linestyle": "", "label": name}, markersize=6)
        fitted = line.intercept + line.slope * x
        axes.plot(x, fitted, color=series["color"], linestyle=series["linestyle"], linewidth=1)
    axes.set(
        title="Average return by number of cubes, with linear fits",
        xlabel="number of cubes",
        ylabel="average return (reward per step)",
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside lower center", ncols=columns)
    return figure
