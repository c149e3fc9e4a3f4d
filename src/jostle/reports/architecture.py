"""A drawing of the architecture: from frames to actions, and what learning adds to it."""

from pathlib import Path

from jostle.reports.diagrams import (
    ENTITIES,
    LEARNED,
    NETWORK,
    SIMULATED,
    Box,
    blank_figure,
    draw_arrow,
    draw_box,
)
from jostle.reports.plot_style import save_figure

_BOXES: tuple[Box, ...] = (
    Box("Environment", "MuJoCo, several\ncameras, goal images", 0.1, 2.3, 1.9, 1.2, SIMULATED),
    Box(
        "Encoder, frozen", "deep latent particles,\nslots or a vector",
        2.6, 3.1, 1.9, 1.0, ENTITIES,
    ),
    Box("True state", "gripper and objects,\neach with an id", 2.6, 1.7, 1.9, 1.0, ENTITIES),
    Box("Entities", "a set per view, mask;\nstates and goals", 5.1, 2.3, 1.9, 1.2, ENTITIES),
    Box(
        "Transformer (EIT)",
        "self-attention\ncross-attention to goals\nself-attention\n(actor and critics: one each)",
        7.6, 2.05, 2.7, 1.7, NETWORK,
    ),
    Box("Actor", "pools its tokens:\nan action", 10.9, 3.1, 1.7, 1.0, NETWORK),
    Box("Critics", "action as an entity:\nset or object values", 10.9, 1.7, 1.7, 1.0, NETWORK),
    Box("Replay buffer", "episodes; later states\nas goals (HER)", 5.1, 0.15, 2.2, 0.95, LEARNED),
    Box("Update", "TD3, or imitation of a\nteacher (DAgger)", 8.1, 0.15, 2.2, 0.95, LEARNED),
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
    figure, axes = blank_figure(12.7, 5.0)
    for corners in _ARROWS:
        draw_arrow(axes, corners)
    for box in _BOXES:
        draw_box(axes, box)
    for x, y, text in _NOTES:
        axes.text(x, y, text, fontsize=11, color="#444444", style="italic")
    return save_figure(figure, out)
