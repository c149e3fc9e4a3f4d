"""Files of frozen episodes: one line of JSON each, as `EpisodeSpec.to_json` writes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.core.errors import BadValueError, JostleError, require
from jostle.tasks.catalog import TASKS
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.variations import OneOf, Shape, Table, Variation

_GRAY = (0.5, 0.5, 0.5)


def read_episodes(path: Path) -> tuple[EpisodeSpec, ...]:
    """Read a file of episodes that can be played together: of one task and number of objects."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadValueError(f"{path} cannot be read: {error}.") from error
    episodes = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            episode = EpisodeSpec.from_json(line)
            _ = TASKS[episode.task]
        except (JostleError, ValueError, AttributeError) as error:
            raise BadValueError(f"{path}, line {number}: {error}") from error
        episodes.append(episode)
    require(len(episodes) > 0, f"{path} holds no episodes.")
    layouts = {_layout(episode) for episode in episodes}
    require(
        len(layouts) == 1,
        f"{path} mixes episodes of different tasks, shapes or numbers of objects: split it.",
    )
    return tuple(episodes)


def stored_env_kwargs(
    episodes: Sequence[EpisodeSpec], needed: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Task and options of an environment that can play stored episodes.

    `needed` are the options that the agent needs.
    """
    first = episodes[0]
    task, scene = TASKS[first.task], first.scene
    count = len(scene.objects) - task.extra_slots()
    padded = any(not obj.present for episode in episodes for obj in episode.scene.objects[:count])
    groups = {task.color_group(slot, count) for slot in range(len(scene.objects))}
    options: dict[str, Any] = {
        "cameras": first.appearance.cameras,
        **needed,
        "objects": (task.counts[0], count) if padded else count,
        "colors": [_GRAY] * (max(groups) + 1),  # the episodes have colors of their own
        "variation": _variations(episodes),
    }
    return task.name, options


def _variations(episodes: Sequence[EpisodeSpec]) -> tuple[Variation, ...]:
    """Variations that make room for the shapes and tables of the episodes."""
    task = TASKS[episodes[0].task]
    shapes = sorted({obj.shape for episode in episodes for obj in episode.scene.objects})
    tables = {episode.scene.table for episode in episodes}
    made: list[Variation] = []
    if shapes != [task.shape]:
        made.append(Shape(shapes[0] if len(shapes) == 1 else OneOf(*shapes)))
    if tables != {task.table}:
        table = max(tables, key=lambda table: table.x * table.y)
        made.append(Table(table.x, table.y))
    return tuple(made)


def _layout(episode: EpisodeSpec) -> tuple[Any, ...]:
    scene = episode.scene
    cameras = tuple(camera.name for camera in episode.appearance.cameras)
    return episode.task, len(scene.objects), scene.parts, scene.corridor, cameras
