"""What the page is sent of tasks, agents and the scene, ready for JSON."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.playground.agent_choices import agent_choices
from jostle.playground.footprints import PLAY_COLORS, color_name, outline, walls
from jostle.playground.messages import SPEEDS
from jostle.playground.setup import PlaySetup
from jostle.scene.colors import RGB
from jostle.tasks.catalog import TASKS
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.vary import FACTORS


def describe_setup(setup: PlaySetup, runs: Path | None) -> dict[str, Any]:
    """What is played, and everything that can be chosen instead."""
    tasks = [
        {"name": name, "summary": task.summary, "counts": task.counts, "objects": task.objects}
        for name, task in TASKS.items()
    ]
    return {
        "type": "setup",
        "setup": {**asdict(setup), "task": TASKS[setup.task].name, "objects": setup.count},
        "tasks": tasks,
        "agents": [vars(choice) for choice in agent_choices(setup.task, setup.count, runs)],
        "factors": [factor.example for factor in FACTORS.values()],
        "speeds": SPEEDS,
        "colors": {name: _css(color) for name, color in PLAY_COLORS.items()},
    }


def describe_scene(episode: EpisodeSpec) -> dict[str, Any]:
    """Table, objects and goals."""
    scene, task = episode.scene, TASKS[episode.task]
    objects = [
        {
            "color": _css(color),
            "name": color_name(color),
            "outline": [_rounded(polygon) for polygon in outline(obj)],
            "present": obj.present,
            "goal": None if np.isnan(shown[0]) else _rounded(shown),
            "target": None if np.isnan(goal[0]) else _rounded(goal),
        }
        for obj, color, shown, goal in zip(
            scene.objects, episode.appearance.colors, episode.goal_view, episode.goal, strict=True
        )
    ]
    return {
        "type": "scene",
        "table": [scene.table.x, scene.table.y],
        "walls": [_rounded(wall) for wall in walls()] if scene.corridor else [],
        "objects": objects,
        "cameras": [camera.name for camera in episode.appearance.cameras],
        "goal_type": task.goal_type,
        "radius": task.radius,
    }


def _css(color: RGB) -> str:
    """A color for the page. MuJoCo's lights brighten colors, and so does this."""
    channels = [round(255 * min(1.0, value) ** 0.8) for value in color]
    return f"rgb({', '.join(map(str, channels))})"


def _rounded(values: NDArray[np.float64]) -> Any:
    return np.round(values, 4).tolist()
