"""Every task by name; registration, tests and docs iterate over this catalog."""

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from jostle.core.catalog import Registry, suggest
from jostle.core.errors import UnknownNameError
from jostle.scene.spec import TableSpec
from jostle.tasks.adjacent_goals import AdjacentGoals
from jostle.tasks.distractors import Distractors
from jostle.tasks.ordered_push import OrderedPush
from jostle.tasks.push_t import PushT
from jostle.tasks.sorting import Sorting
from jostle.tasks.task import Task

_NUMBERS = ("One", "Two", "Three", "Four", "Five", "Six")


def _n_cubes(name: str, count: int) -> Task:
    cubes = f"{count} cubes to where the goal shows them" if count > 1 else "a cube to its goal"
    return Task(name=name, summary=f"Push {cubes}", objects=count, counts=(count, count))


_TASKS = (
    Task(name="NCubes", summary="Push 1 to 12 cubes to where the goal shows them"),
    *(_n_cubes(f"{word}Cube{'s' if n else ''}", n + 1) for n, word in enumerate(_NUMBERS)),
    AdjacentGoals(
        name="AdjacentGoals",
        summary="Push cubes to goals that lie side by side",
        counts=(2, 6),
        budget={"teacher": "mixed-goals-state-dagger"},
    ),
    AdjacentGoals(
        name="MixedGoals",
        summary="Push cubes to goals that are scattered or, half of the time, lie side by side",
        counts=(1, 6),
        arrangement="random",
        adjacent_fraction=0.5,
        budget={"teacher": "mixed-goals-state-dagger"},
    ),
    Task(
        name="SmallTable",
        summary="Push three cubes on a table so small that they are always in the way",
        table=TableSpec(x=0.3, y=0.3),
        counts=(1, 4),
        budget={"replay_size": 300_000, "teacher": "small-table-state-td3"},
    ),
    OrderedPush(
        name="OrderedPush",
        summary="Push two cubes into a dead-end corridor, in the right order",
        objects=2,
        counts=(2, 2),
        corridor=True,
        budget={
            "hindsight": False,
            "imitation_horizon": 60,
            "teacher": "ordered-push-state-dagger",
        },
    ),
    PushT(
        name="PushT",
        summary="Turn T-blocks to the heading in the goal image (only the heading counts)",
        objects=1,
        counts=(1, 2),
        shape="tee",
        goal_type="yaw",
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
        summary="The goal image also shows cubes that are not in the scene",
        counts=(1, 6),
    ),
)


class TaskCatalog(Registry[Task]):
    """Tasks by name: `ThreeCubes` and `three-cubes` are the same."""

    def __getitem__(self, name: str) -> Task:
        """Return the task, or say which name was probably meant."""
        names = {dashed(known): known for known in self}
        return super().__getitem__(names.get(name, name) if isinstance(name, str) else name)

    def __contains__(self, name: object) -> bool:
        """Whether there is a task of this name, in either spelling."""
        return name in self._entries or any(name == dashed(known) for known in self._entries)


def dashed(name: str) -> str:
    """The spelling of a task's name on the command line: ThreeCubes to three-cubes."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


TASKS = TaskCatalog("task", {task.name: task for task in _TASKS})


def task_with(name: str, objects: int) -> str | None:
    """Name of the same task with another number of objects: itself, or NCubes of n cubes."""
    task = TASKS[name]
    low, high = task.counts
    if low <= objects <= high:
        return task.name
    return "NCubes" if type(task) is Task and task.table == TASKS["NCubes"].table else None


def task_id(name: str) -> str:
    """Gymnasium id of a task."""
    return f"jostle/{TASKS[name].name}-v0"


def configure_task(name: str, options: dict[str, Any], other_options: Sequence[str] = ()) -> Task:
    """Return a task of the catalog with options of its own, such as `arrangement`, set.

    `other_options` are the options of every environment; a suggestion for a misspelled option may
    be one of them.
    """
    task = TASKS[name]
    task_options = {field.name for field in fields(task)} - {field.name for field in fields(Task)}
    for option in options:
        if option not in task_options:
            raise UnknownNameError(
                f"{name} has no option '{option}'. "
                f"{suggest(option, [*sorted(task_options), *other_options])}"
            )
    return replace(task, **options)
