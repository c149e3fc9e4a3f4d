"""Plots of the pages on concepts: hindsight, the Chamfer reward, the losses of imitation."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.reports.diagrams import BLUE, GRAY, GREEN, RED
from jostle.reports.plot_style import save_figure
from jostle.rewards.chamfer import ChamferConfig, chamfer_reward
from jostle.rewards.particle_sets import ParticleSet

Points = NDArray[np.float64]

_COLORS = (RED, GREEN, BLUE)
_PATHS = (
    ((-0.18, -0.08), (-0.15, -0.02), (-0.08, 0.02), (-0.01, 0.03), (0.05, 0.0)),
    ((0.02, 0.14), (0.02, 0.14), (0.03, 0.13), (0.08, 0.11), (0.15, 0.10)),
    ((0.14, -0.12), (0.14, -0.12), (0.14, -0.12), (0.14, -0.12), (0.14, -0.12)),
)
"""Positions of three cubes in five steps of an episode, in meters."""
_GOALS = ((0.18, 0.02), (-0.14, 0.12), (-0.05, -0.14))
"""Where they should have gone."""


def draw_hindsight(out: Path) -> Path:
    """An episode with its own goals, and with two kinds of hindsight goals."""
    figure = _figure(11.0, 3.5)
    panels = figure.subplots(1, 3)
    later = tuple(path[3] for path in _PATHS)
    mixed = (_PATHS[0][4], (-0.12, 0.14), _PATHS[2][0])
    titles = ("the episode's own goals", "future: one later step", "per object: several sources")
    for panel, title, goals in zip(panels, titles, (_GOALS, later, mixed), strict=True):
        _table(panel, title)
        _paths(panel)
        for color, (x, y) in zip(_COLORS, goals, strict=True):
            panel.scatter(x, y, s=170, marker="s", facecolors="none", edgecolors=color, lw=2)
    for x, y, text in ((0.07, -0.035, "later"), (-0.09, 0.155, "another episode"),
                       (0.11, -0.18, "stays")):  # fmt: skip
        panels[2].text(x, y, text, fontsize=9.5, color="#333333")
    figure.text(
        0.5, 0.02, "dots: five steps of each cube; open squares: goals of the sample",
        ha="center", fontsize=10, color="#444444",
    )  # fmt: skip
    figure.subplots_adjust(0.01, 0.09, 0.99, 0.9, wspace=0.03)
    return save_figure(figure, out)


def _table(panel: Any, title: str) -> None:
    panel.set_title(title, fontsize=11.5)
    panel.set(xlim=(-0.25, 0.25), ylim=(-0.21, 0.21), aspect="equal", xticks=[], yticks=[])
    panel.set_facecolor("#f4f1ec")


def _paths(panel: Any) -> None:
    for color, path in zip(_COLORS, _PATHS, strict=True):
        xs, ys = zip(*path, strict=True)
        panel.plot(xs, ys, color=color, lw=1, alpha=0.6)
        panel.scatter(xs, ys, s=14, color=color)
        panel.scatter(xs[0], ys[0], s=110, marker="s", color=color)


def draw_chamfer(out: Path) -> Path:
    """Particles of a state matched with those of a goal, and the reward along a push."""
    figure = _figure(10.4, 3.8)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _matches(left)
    distances = np.linspace(0, 0.6, 61)
    names = {"gdac-code": "gdac-code, the default", "gdac-paper": "gdac-paper", "plain": "plain"}
    styles = ("-", "--", ":")
    for (variant, label), style in zip(names.items(), styles, strict=True):
        config = ChamferConfig(variant=variant)  # type: ignore[arg-type]
        rewards = [chamfer_reward(*_sets(distance), config) for distance in distances]
        right.plot(distances, rewards, style, label=label, color="#333333")
    right.set_xlabel("distance of the red cube from its goal, in the image")
    right.set_ylabel("reward")
    right.set_title("green at its goal, gray unmatched", fontsize=11)
    right.legend(frameon=False, fontsize=10)
    right.spines[["top", "right"]].set_visible(False)
    figure.subplots_adjust(0.02, 0.15, 0.98, 0.9, wspace=0.2)
    return save_figure(figure, out)


_RED_OFFSETS = ((0.0, 0.0), (0.05, 0.03), (-0.04, 0.05))


def _sets(distance: float) -> tuple[ParticleSet, ParticleSet]:
    """A state with three red particles, a green and a gray one, and its goal: red and green."""
    red = [(x - 0.3 + distance, y - 0.2) for x, y in _RED_OFFSETS]
    state = np.array([*red, (0.4, 0.3), (0.0, 0.45)])
    goal = np.array([(-0.3, -0.2), (0.4, 0.3)])
    red_features, green_features, gray_features = (0.0, 4.0), (4.0, 0.0), (8.0, 8.0)
    state_features = np.array([red_features] * 3 + [green_features, gray_features])
    goal_features = np.array([red_features, green_features])
    return _one_view(state, state_features), _one_view(goal, goal_features)


def _one_view(positions: Points, features: Points) -> ParticleSet:
    return ParticleSet(positions[None], features[None], np.ones((1, len(positions)), bool))


def _matches(panel: Any) -> None:
    """The particles of state and goal, with arrows from each to its match."""
    state, goal = _sets(0.55)
    panel.set(xlim=(-0.6, 0.7), ylim=(-0.6, 0.62), aspect="equal", xticks=[], yticks=[])
    panel.set_facecolor("#f4f1ec")
    panel.set_title("filled: state, open: goal", fontsize=11)
    colors = (RED, RED, RED, GREEN)
    targets = (0, 0, 0, 1)
    panel.scatter(*state.positions[0][4], s=60, color=GRAY)
    panel.text(-0.55, 0.52, "nothing looks like this one", fontsize=9.5, color="#333333")
    for (x, y), color, target in zip(state.positions[0][:4], colors, targets, strict=True):
        gx, gy = goal.positions[0][target]
        panel.scatter(x, y, s=60, color=color, zorder=3)
        panel.plot((x, gx), (y, gy), color=GRAY, lw=1)
    for (x, y), color in zip(goal.positions[0], (RED, GREEN), strict=True):
        panel.scatter(x, y, s=150, facecolors="none", edgecolors=color, lw=2, zorder=3)
    panel.text(-0.55, -0.42, "three particles share one match:\nthey count as one group",
               fontsize=9.5, color="#333333", va="top")  # fmt: skip


def draw_imitation(out: Path) -> Path:
    """How control passes to the student, and why errors count by their length."""
    figure = _figure(10.4, 3.4)
    left, right = figure.subplots(1, 2)
    iterations = np.arange(13)
    for minimum, style in ((0.0, "-"), (0.25, "--")):
        beta = np.maximum(minimum, 1 - iterations / 8)
        left.plot(iterations, beta, style, marker="o", ms=4, color="#333333",
                  label=f"expert_fraction {minimum:g}")  # fmt: skip
    left.set(xlabel="iteration k", ylabel="fraction of environments", ylim=(-0.05, 1.05))
    left.set_title("environments that the teacher controls", fontsize=11)
    left.legend(frameon=False, fontsize=10)

    # A teacher that goes left around an object twice, and right once
    actions = np.linspace(-1.3, 1.3, 261)
    length = np.mean([np.sqrt((actions - a) ** 2 + 0.02**2) - 0.02 for a in (-1, -1, 1)], axis=0)
    square = np.mean([(actions - a) ** 2 for a in (-1, -1, 1)], axis=0)
    for loss, style, label in ((length, "-", "length of the error"), (square, "--", "its square")):
        right.plot(actions, loss, style, color="#333333", label=label)
        best = int(loss.argmin())
        right.plot(actions[best], loss[best], "o", color=RED)
    right.set(xlabel="action", ylabel="mean loss", ylim=(0, 2.6))
    right.set_title("labels -1, -1 and 1: red is the best action", fontsize=11)
    right.legend(frameon=False, fontsize=10)
    for panel in (left, right):
        panel.spines[["top", "right"]].set_visible(False)
    figure.subplots_adjust(0.07, 0.16, 0.98, 0.9, wspace=0.2)
    return save_figure(figure, out)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))
