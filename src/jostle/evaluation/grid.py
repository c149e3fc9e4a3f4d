"""Grids of variations: an agent's own task, other numbers of objects, ladders of factors, pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jostle.core.catalog import Catalog, suggest
from jostle.core.checks import check_int
from jostle.core.errors import BadValueError, UnknownNameError
from jostle.scene.colors import COLORS
from jostle.tasks.catalog import TASKS, task_with
from jostle.tasks.vary import NO_VARIATION, Vary, parse_vary

BASE = "own task"
"""Ladder of the one cell without any change."""
COUNT, PAIRS = "count", "pairs"
"""Ladders of numbers of objects, and of several changes at once."""
HOLDS = 0.9
"""From this fraction of its success on, an agent holds."""
BREAKS = 0.5
"""Below this fraction of its success, an agent breaks."""
_PIXEL_FACTORS = ("color", "camera", "light", "light_angle", "drop_camera")
"""Factors that an agent of true state does not notice."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Which cells a grid has, and how much may be spent on it."""

    ladders: Mapping[str, tuple[str, ...]]
    """Variations as text, by the name of their ladder; {camera} is the agent's first camera."""
    counts: tuple[int, ...]
    """Numbers of objects."""
    pairs: tuple[str, ...] = ()
    """Several changes at once; count=6 is a number of objects."""
    episodes: int | None = None
    """Episodes per cell; None for as many as the time allows."""
    minutes: float | None = None
    """Time limit."""


_PAPER = {
    "shape": ("shape=star",),
    "cuboid": ("size=1.5x1", "size=2x1"),
    "size": ("size=1.5x1.5", "size=2x2"),
    "color": ("color=yellow,purple,cyan", "color=held-out"),
    "mass": ("mass=x0.05", "mass=x0.1", "mass=x10", "mass=x20"),
}
_QUICK = {
    "shape": ("shape=star",),
    "cuboid": ("size=1.5x1", "size=2x1"),
    "size": ("size=1.5x1.5", "size=2x2"),
    "mass": ("mass=x0.05", "mass=x20"),
    "friction": ("friction=0.5", "friction=2"),
    "table": ("table=0.4x0.5", "table=0.6x0.7"),
    "color": ("color=palette", "color=held-out"),
    "camera": ("camera.{camera}.x=+0.05", "camera.{camera}.x=+0.2"),
    "light": ("light=0.7", "light=0.4"),
    "drop_camera": ("drop_camera=*",),
}
_FULL = {
    **_QUICK,
    "shape": ("shape=star", "shape=tee"),
    "cuboid": ("size=1.25x1", "size=1.5x1", "size=2x1", "size=3x1"),
    "size": ("size=0.7x0.7", "size=1.25x1.25", "size=1.5x1.5", "size=2x2"),
    "mass": ("mass=x0.05", "mass=x0.1", "mass=x10", "mass=x20", "mass=x50"),
    "friction": ("friction=0.25", "friction=0.5", "friction=2", "friction=4"),
    "color": ("color=yellow,purple,cyan", "color=palette", "color=held-out"),
    "camera": tuple(f"camera.{{camera}}.x=+{meters}" for meters in (0.05, 0.1, 0.2)),
    "light": ("light=1.3", "light=0.7", "light=0.5", "light=0.3"),
    "light_angle": ("light_angle=45", "light_angle=90"),
}

PRESETS: Catalog[Preset] = Catalog(
    "preset",
    {
        "quick": Preset(
            ladders=_QUICK,
            counts=(1, 2, 4, 6),
            pairs=("size=1.5x1.5 mass=x20", "count=6 mass=x20"),
            minutes=10,
        ),
        "paper": Preset(ladders=_PAPER, counts=(1, 2, 3, 4, 5, 6), episodes=400),
        "full": Preset(
            ladders=_FULL,
            counts=(1, 2, 3, 4, 5, 6, 12),
            pairs=(
                "size=1.5x1.5 mass=x20", "shape=star mass=x20", "mass=x20 friction=2",
                "count=6 shape=star", "count=6 mass=x20", "count=6 size=1.5x1.5",
                "camera.{camera}.x=+0.1 light=0.5", "count=6 color=palette",
            ),
            episodes=400,
        ),
    },
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a grid: a change of the agent's task."""

    ladder: str
    """Row of the map that the cell is in."""
    label: str
    """What differs from the agent's own task, as text."""
    task: str
    """Task to evaluate on."""
    objects: int
    """Number of objects."""
    colors: str
    """Colors of the objects, as for environments."""
    vary: Vary = NO_VARIATION
    """What is varied."""


@dataclass(frozen=True, kw_only=True)
class GridAgent:
    """What a grid depends on of an agent."""

    task: str
    """The task it is trained on."""
    objects: int
    """Most objects that it is trained with."""
    colors: str = "fixed"
    """Colors that it is trained with."""
    cameras: tuple[str, ...] = ()
    """Cameras of a pixel agent."""


def grid_cells(
    preset: Preset,
    agent: GridAgent,
    factors: Sequence[str] = (),
    counts: Sequence[int] | None = None,
    pairs: Sequence[str] = (),
) -> list[Cell]:
    """Cells of a grid, the unchanged task first.

    Args:
        preset: Ladders, counts and pairs.
        agent: The agent; what one of true state does not notice is left out.
        factors: Names of ladders to keep, also `count` and `pairs`; all by default.
        counts: Numbers of objects instead of those of the preset.
        pairs: Several changes at once, besides those of the preset.
    """
    names = [COUNT, *preset.ladders, PAIRS]
    for name in factors:
        if name not in names:
            raise UnknownNameError(f"This grid has no factor '{name}'. {suggest(name, names)}")
    kept = set(factors or names)
    cells = [_cell(agent, BASE, "")]
    if COUNT in kept or counts is not None:
        cells += _count_cells(preset.counts if counts is None else counts, agent, counts is None)
    for ladder, texts in preset.ladders.items():
        if ladder in kept:
            cells += [_cell(agent, ladder, text) for text in _fitting(texts, agent)]
    if PAIRS in kept:
        cells += [_cell(agent, PAIRS, text) for text in _fitting(preset.pairs, agent, counts=True)]
    cells += [_cell(agent, PAIRS, text.format(camera=_first_camera(agent))) for text in pairs]
    unique = {(cell.task, cell.objects, cell.colors, cell.vary): cell for cell in reversed(cells)}
    return list(reversed(unique.values()))


def _count_cells(counts: Sequence[int], agent: GridAgent, from_preset: bool) -> list[Cell]:
    """Cells of other numbers of objects; a preset's that the task does not have are left out."""
    for count in counts:
        check_int("counts", count, 1)
    possible = [count for count in counts if _possible_count(agent, count)]
    if not from_preset and (missing := [count for count in counts if count not in possible]):
        raise BadValueError(
            f"There is no task like {agent.task} with {missing[0]} objects for this agent: leave "
            "it out of --counts."
        )
    return [_cell(agent, COUNT, f"count={count}") for count in possible if count != agent.objects]


def _possible_count(agent: GridAgent, count: int) -> bool:
    """Whether there is such a task, and enough colors that a pixel agent can tell apart."""
    try:
        return task_with(agent.task, count) is not None and (
            not agent.cameras or count <= _most_colors(agent)
        )
    except BadValueError:
        return False


def _most_colors(agent: GridAgent) -> int:
    return 6 if agent.colors == "random" else len(COLORS)


def _fitting(texts: Sequence[str], agent: GridAgent, counts: bool = False) -> list[str]:
    """Texts of a preset for this agent, with its cameras in them."""
    fitting = []
    for text in texts:
        words = text.split()
        seen = [
            word for word in words if word.partition("=")[0].partition(".")[0] in _PIXEL_FACTORS
        ]
        if seen and not agent.cameras:
            continue
        numbers = [int(word[len("count=") :]) for word in words if word.startswith("count=")]
        if counts and not all(_possible_count(agent, number) for number in numbers):
            continue
        if "drop_camera=*" in words:
            names = agent.cameras if len(agent.cameras) > 1 else ()
            fitting += [text.replace("*", name) for name in names]
        else:
            fitting.append(text.format(camera=_first_camera(agent)))
    return fitting


def _first_camera(agent: GridAgent) -> str:
    return agent.cameras[0] if agent.cameras else "front"


def _cell(agent: GridAgent, ladder: str, text: str) -> Cell:
    """Cell of a change: factors, and perhaps a number of objects."""
    words = text.split()
    numbers = [word.removeprefix("count=") for word in words if word.startswith("count=")]
    if any(not number.isdigit() for number in numbers) or len(numbers) > 1:
        raise BadValueError(f"'{text}' must have at most one number of objects, such as count=6.")
    objects = int(numbers[0]) if numbers else agent.objects
    task = task_with(agent.task, objects)
    if task is None:
        raise BadValueError(f"There is no task like {agent.task} with {objects} objects.")
    vary = parse_vary([word for word in words if not word.startswith("count=")])
    groups = {TASKS[task].color_group(slot, objects) for slot in range(objects)}
    colors = "hues" if len(groups) > len(COLORS) else agent.colors
    label = " ".join((*(f"count={number}" for number in numbers), *str(vary).split()))
    return Cell(
        ladder=ladder, label=label or BASE, task=task, objects=objects, colors=colors, vary=vary
    )
