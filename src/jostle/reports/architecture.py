"""A drawing of the architecture: from frames to actions, and what learning adds to it."""

from pathlib import Path
from typing import Any

from jostle.reports.plot_style import save_figure

_SIMULATED, _ENTITIES, _NETWORK, _LEARNED = "#dbe7f4", "#e3f0dd", "#fbe9cf", "#eee3f3"
"""Colors of the boxes: environments, entities, networks, learning."""

_Box = tuple[str, str, float, float, float, float, str]
"""Title, text below it, left, bottom, width and height, color."""
_BOXES: tuple[_Box, ...] = (
    ("Environment", "MuJoCo, several\ncameras, goal images", 0.1, 2.3, 1.9, 1.2, _SIMULATED),
    ("Encoder, frozen", "deep latent particles,\nslots or a vector", 2.6, 3.1, 1.9, 1.0, _ENTITIES),
    ("True state", "gripper and objects,\neach with an id", 2.6, 1.7, 1.9, 1.0, _ENTITIES),
    ("Entities", "a set per view, mask;\nstates and goals", 5.1, 2.3, 1.9, 1.2, _ENTITIES),
    (
        "Transformer (EIT)",
        "self-attention\ncross-attention to goals\nself-attention\n(actor and critics: one each)",
        7.6, 2.05, 2.7, 1.7, _NETWORK,
    ),
    ("Actor", "pools its tokens:\nan action", 10.9, 3.1, 1.7, 1.0, _NETWORK),
    ("Critics", "action as an entity:\nset or object values", 10.9, 1.7, 1.7, 1.0, _NETWORK),
    ("Replay buffer", "episodes; later states\nas goals (HER)", 5.1, 0.15, 2.2, 0.95, _LEARNED),
    ("Update", "TD3, or imitation of a\nteacher (DAgger)", 8.1, 0.15, 2.2, 0.95, _LEARNED),
)  # fmt: skip
_ARROWS: tuple[tuple[tuple[float, float], ...], ...] = (
    ((2.0, 3.1), (2.3, 3.1), (2.3, 3.6), (2.6, 3.6)),
    ((2.0, 2.7), (2.3, 2.7), (2.3, 2.2), (2.6, 2.2)),
    ((4.5, 3.6), (4.8, 3.6), (4.8, 3.1), (5.1, 3.1)),
    ((4.5, 2.2), (4.8, 2.2), (4.8, 2.7), (5.1, 2.7)),
    ((7.0, 2.9), (7.6, 2.9)),
    ((10.3, 3.1), (10.6, 3.1), (10.6, 3.6), (10.9, 3.6)),
    ((10.3, 2.7), (10.6, 2.7), (10.6, 2.2), (10.9, 2.2)),
    ((11.75, 4.1), (11.75, 4.55), (1.05, 4.55), (1.05, 3.5)),
    ((6.2, 2.3), (6.2, 1.1)),
    ((7.3, 0.62), (8.1, 0.62)),
    ((10.3, 0.62), (11.75, 0.62), (11.75, 1.7)),
)
"""Corners of the arrows, in the order of the data."""
_NOTES = ((6.4, 4.65, "action"), (6.35, 1.6, "episodes"), (10.4, 0.72, "gradients"))


def draw_architecture(out: Path) -> Path:
    """Draw the architecture as an image file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.7, 5.0))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, 12.7), ylim=(0, 5.0), aspect="equal")
    axes.axis("off")
    for corners in _ARROWS:
        _arrow(axes, corners)
    for box in _BOXES:
        _box(axes, box)
    for x, y, text in _NOTES:
        axes.text(x, y, text, fontsize=11, color="#444444", style="italic")
    return save_figure(figure, out)


def _box(axes: Any, box: _Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    title, text, left, bottom, width, height, color = box
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(
        FancyBboxPatch(
            (left, bottom), width, height, boxstyle=style, facecolor=color, edgecolor="#555555"
        )
    )
    center, top = left + width / 2, bottom + height
    axes.text(center, top - 0.12, title, ha="center", va="top", fontsize=12, weight="bold")
    middle = bottom + (height - 0.34) / 2
    axes.text(center, middle, text, ha="center", va="center", fontsize=10.5, linespacing=1.3)


def _arrow(axes: Any, corners: tuple[tuple[float, float], ...]) -> None:
    """A line around corners with a head at its end."""
    xs, ys = zip(*corners[:-1], strict=True)
    axes.plot(xs, ys, color="#555555", linewidth=1.4, solid_joinstyle="round")
    axes.annotate(
        "", xy=corners[-1], xytext=corners[-2],
        arrowprops={"arrowstyle": "-|>", "color": "#555555", "linewidth": 1.4, "shrinkA": 0,
                    "shrinkB": 0},
    )  # fmt: skip
