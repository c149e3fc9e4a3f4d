"""Every task by name; registration, tests, docs and suites iterate over this."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from jostle.core.catalog import Catalog, suggest
from jostle.core.errors import UnknownNameError
from jostle.scene.spec import TableSpec
from jostle.tasks.adjacent_goals import AdjacentGoals
from jostle.tasks.distractors import Distractors
from jostle.tasks.ordered_push import OrderedPush
from jostle.tasks.push_t import PushT
from jostle.tasks.sorting import Sorting
from jostle.tasks.task import Task

_WORDS = ("One", "Two", "Three", "Four", "Five", "Six")


def _n_cubes(name: str, count: int) -> Task:
    what = f"{count} cubes to where the goal shows them" if count > 1 else "a cube to its goal"
    return Task(name=name, summary=f"Push {what}", objects=count, counts=(count, count))


_TASKS = (
    Task(name="NCubes", summary="Push 1 to 12 cubes to where the goal shows them"),
    *(_n_cubes(f"{word}Cube{'s' if n else ''}", n + 1) for n, word in enumerate(_WORDS)),
    AdjacentGoals(
        name="AdjacentGoals", summary="Push cubes to goals that lie side by side", counts=(2, 6)
    ),
    AdjacentGoals(
        name="MixedGoals",
        summary="Push cubes to goals that are scattered or, half of the time, lie side by side",
        counts=(1, 6),
        arrangement="random",
        share=0.5,
    ),
    Task(
        name="SmallTable",
        summary="Push three cubes on a table so small that they are always in the way",
        table=TableSpec(x=0.3, y=0.3),
        counts=(1, 4),
    ),
    OrderedPush(
        name="OrderedPush",
        summary="Push two cubes into a dead-end corridor, in the right order",
        objects=2,
        counts=(2, 2),
        corridor=True,
    ),
    PushT(
        name="PushT",
        summary="Turn T-blocks to the heading in the goal picture (heading alone is scored)",
        objects=1,
        counts=(1, 2),
        shape="tee",
        kind="yaw",
        radius=0.3,
        horizons=(50, 100),
    ),
    Sorting(
        name="Sorting",
        summary="Sort 12 cubes to one place per color",
        objects=12,
        counts=(4, 12),
        radius=0.16,
        horizons=(100,),
    ),
    Distractors(
        name="Distractors",
        summary="The goal picture also shows cubes that are not there",
        counts=(1, 6),
    ),
)

TASKS: Catalog[Task] = Catalog("task", {task.name: task for task in _TASKS})


def task_id(name: str) -> str:
    """Gymnasium id of a task."""
    return f"jostle/{TASKS[name].name}-v0"


def configure(name: str, options: dict[str, Any], others: Sequence[str] = ()) -> Task:
    """Take a task from the catalog and set options of its own, such as `arrangement`.

    `others` are options known elsewhere, which a misspelt one may have meant.
    """
    task = TASKS[name]
    own = {field.name for field in fields(task)} - {field.name for field in fields(Task)}
    for option in options:
        if option not in own:
            raise UnknownNameError(
                f"{name} has no option '{option}'. {suggest(option, [*sorted(own), *others])}"
            )
    return replace(task, **options)
