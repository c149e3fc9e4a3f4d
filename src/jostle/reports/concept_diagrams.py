"""Diagrams of the pages on concepts: sets of entities, the transformer, values per entity."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from jostle.reports.diagrams import (
    BLUE,
    ENTITIES,
    GRAY,
    GREEN,
    LEARNED,
    NETWORK,
    RED,
    SIMULATED,
    Box,
    blank_figure,
    draw_arrow,
    draw_box,
)
from jostle.reports.plot_style import save_figure

_CUBES = (RED, GREEN, BLUE)


def draw_entities(out: Path) -> Path:
    """Sets of entities as arrays: rows are entities, gray rows are masked."""
    figure, axes = blank_figure(9.6, 3.6)
    _set(
        axes, 0.5, "true state: one view",
        ("gripper", "cube", "cube", "absent"),
        (("x, y", 1.0, ENTITIES), ("z", 0.45, ENTITIES), ("flag", 0.5, SIMULATED),
         ("object id", 1.15, LEARNED)),
        masked=(3,),
    )  # fmt: skip
    _set(
        axes, 5.3, "particles: one set per camera",
        ("cube", "arm", "cube", "opacity too low"),
        (("x, y", 0.7, ENTITIES), ("scale", 0.6, SIMULATED), ("depth", 0.6, SIMULATED),
         ("features", 1.2, LEARNED)),
        masked=(3,),
    )  # fmt: skip
    return save_figure(figure, out)


def _set(
    axes: Any,
    left: float,
    title: str,
    rows: tuple[str, ...],
    groups: tuple[tuple[str, float, str], ...],
    masked: tuple[int, ...],
) -> None:
    """One set: rows of column groups, and its mask to the right."""
    from matplotlib.patches import Rectangle

    axes.text(left, 3.3, title, fontsize=12, weight="bold", va="center")
    top, height = 2.65, 0.5
    for row, name in enumerate(rows):
        x, y = left, top - (row + 1) * height
        for _, width, color in groups:
            face = "#e9e9e9" if row in masked else color
            axes.add_patch(
                Rectangle((x, y), width, height, facecolor=face, edgecolor="white", lw=2)
            )
            x += width
        text_color = GRAY if row in masked else "black"
        axes.text(left + 0.08, y + height / 2, name, fontsize=10, va="center", color=text_color)
        axes.text(x + 0.25, y + height / 2, "01"[row not in masked], fontsize=11, va="center")
    x = left
    for name, width, _ in groups:
        axes.text(x + width / 2, top + 0.12, name, ha="center", fontsize=9.5, color="#444444")
        x += width
    axes.text(x + 0.3, top + 0.12, "visible", ha="center", fontsize=9.5, color="#444444")
    axes.text((left + x) / 2, 0.3, "values", ha="center", fontsize=10.5, style="italic")


def draw_transformer(out: Path) -> Path:
    """The Entity Interaction Transformer: two sets in, an action or values out."""
    figure, axes = blank_figure(11.2, 3.4)
    cubes = ("red cube", "green cube", "blue cube")
    draw_box(axes, Box("gripper", "", 0.1, 2.95, 1.25, 0.34, "#f3f3f3"))
    for index, (name, color) in enumerate(zip(cubes, _CUBES, strict=True)):
        draw_box(axes, Box(name, "", 0.1, 2.53 - 0.42 * index, 1.25, 0.34, _tint(color)))
        draw_box(axes, Box("its goal", "", 0.1, 0.95 - 0.42 * index, 1.25, 0.34, _tint(color)))
    blocks = (
        Box("Embed", "linear map,\nview embedding", 1.85, 1.1, 1.55, 1.25, NETWORK),
        Box("Self-\nattention", "", 3.85, 1.1, 1.2, 1.25, NETWORK),
        Box("Cross-\nattention\nto goals", "", 5.5, 1.1, 1.2, 1.25, NETWORK),
        Box("Self-\nattention", "", 7.15, 1.1, 1.2, 1.25, NETWORK),
        Box("Pool", "a learned\nquery attends", 8.8, 1.1, 1.15, 1.25, NETWORK),
    )
    for box in blocks:
        draw_box(axes, box)
    draw_arrow(axes, ((1.35, 2.48), (1.6, 2.48), (1.6, 2.0), (1.85, 2.0)))
    draw_arrow(axes, ((1.35, 0.7), (1.6, 0.7), (1.6, 1.4), (1.85, 1.4)))
    for left, right in pairwise(blocks):
        draw_arrow(axes, ((left.left + left.width, 2.0), (right.left, 2.0)))
    draw_arrow(axes, ((3.4, 1.4), (3.6, 1.4), (3.6, 0.75), (6.1, 0.75), (6.1, 1.1)))
    axes.text(4.2, 0.5, "goal tokens: keys and values", fontsize=10, color="#444444")
    axes.text(3.45, 2.5, "state tokens", fontsize=10, color="#444444")
    draw_arrow(axes, ((9.95, 1.72), (10.35, 1.72)))
    axes.text(10.4, 1.72, "action,\nor value", fontsize=11, va="center")
    return save_figure(figure, out)


def draw_values(out: Path) -> Path:
    """One value of the set, as in the paper, beside a value of every object."""
    figure, axes = blank_figure(10.6, 3.6)
    axes.text(0.1, 3.35, "pooled: one value, one target", fontsize=12, weight="bold")
    axes.text(5.6, 3.35, "per entity: every object has its own target", fontsize=12, weight="bold")
    for left, per_entity in ((0.1, False), (5.6, True)):
        for index, color in enumerate(_CUBES):
            y = 2.55 - 0.75 * index
            draw_box(axes, Box(f"$h_{index + 1}$", "", left, y, 0.6, 0.5, _tint(color)))
            _after_token(axes, left, y, index, per_entity)
        draw_box(axes, Box("$h_a$", "", left, 0.3, 0.6, 0.5, "#f3f3f3"))
    draw_box(axes, Box("Pool", "", 1.4, 1.5, 0.9, 1.0, NETWORK))
    draw_arrow(axes, ((0.7, 0.55), (1.85, 0.55), (1.85, 1.5)))
    draw_arrow(axes, ((2.3, 2.0), (2.8, 2.0)))
    draw_box(axes, Box("$Q$", "", 2.8, 1.75, 0.7, 0.5, LEARNED))
    axes.text(3.6, 2.0, "target from the\nmean reward", fontsize=10.5, va="center")
    axes.text(6.3, 0.52, "goes into every MLP", fontsize=10, color="#444444", va="center")
    return save_figure(figure, out)


def _after_token(axes: Any, left: float, y: float, index: int, per_entity: bool) -> None:
    """What follows an object's token: an arrow to the pool, or a value of its own."""
    if not per_entity:
        draw_arrow(axes, ((left + 0.6, y + 0.25), (left + 1.0, y + 0.25), (left + 1.3, 2.0)))
        return
    draw_arrow(axes, ((left + 0.6, y + 0.25), (left + 1.0, y + 0.25)))
    draw_box(axes, Box("MLP", "", left + 1.0, y, 0.8, 0.5, NETWORK))
    draw_arrow(axes, ((left + 1.8, y + 0.25), (left + 2.2, y + 0.25)))
    draw_box(axes, Box(f"$Q_{index + 1}$", "", left + 2.2, y, 0.7, 0.5, LEARNED))
    axes.text(left + 3.0, y + 0.25, f"target from $r_{index + 1}$", fontsize=10.5, va="center")


def _tint(color: str) -> str:
    return {RED: "#f2c9c4", GREEN: "#c8e6d0", BLUE: "#c9d6ef"}[color]
