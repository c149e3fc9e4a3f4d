"""Diagrams of boxes and arrows, and what all drawings of the documentation share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

SIMULATED, ENTITIES, NETWORK, LEARNED = "#dbe7f4", "#e3f0dd", "#fbe9cf", "#eee3f3"
"""Colors of boxes: environments, entities, networks, learning."""
RED, GREEN, BLUE, GRAY = "#c0392b", "#1e8449", "#1f4fa3", "#777777"
"""Colors of cubes, and of what is left out."""
_LINE = "#555555"

Corners = Sequence[tuple[float, float]]


class Box(NamedTuple):
    """A box with a title and a text below it; lengths are inches."""

    title: str
    text: str
    left: float
    bottom: float
    width: float
    height: float
    color: str


def blank_figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure without axes, in inches, and where to draw in it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axes.axis("off")
    return figure, axes


def draw_box(axes: Any, box: Box) -> None:
    """Draw a box."""
    from matplotlib.patches import FancyBboxPatch

    title, text, left, bottom, width, height, color = box
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(
        FancyBboxPatch(
            (left, bottom), width, height, boxstyle=style, facecolor=color, edgecolor=_LINE
        )
    )
    center, top = left + width / 2, bottom + height
    if not text:
        axes.text(center, bottom + height / 2, title, ha="center", va="center", fontsize=11)
        return
    axes.text(center, top - 0.12, title, ha="center", va="top", fontsize=12, weight="bold")
    middle = bottom + (height - 0.34) / 2
    axes.text(center, middle, text, ha="center", va="center", fontsize=10.5, linespacing=1.3)


def draw_arrow(axes: Any, corners: Corners, color: str = _LINE) -> None:
    """A line around corners with a head at its end."""
    xs, ys = zip(*corners[:-1], strict=True)
    axes.plot(xs, ys, color=color, linewidth=1.4, solid_joinstyle="round")
    axes.annotate(
        "", xy=corners[-1], xytext=corners[-2],
        arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.4, "shrinkA": 0,
                    "shrinkB": 0},
    )  # fmt: skip
