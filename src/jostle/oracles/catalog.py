"""The scripted expert of each task."""

from collections.abc import Callable

from jostle.core.catalog import Catalog
from jostle.core.protocols import Policy
from jostle.oracles.corridor import CorridorPusher
from jostle.oracles.policy import RandomPolicy
from jostle.oracles.pusher import CubePusher
from jostle.oracles.sorter import Sorter
from jostle.oracles.tee import TeePusher
from jostle.scene.spec import TableSpec
from jostle.tasks.task import Task

_SPECIALISTS: dict[str, Callable[[TableSpec], Policy]] = {
    "OrderedPush": CorridorPusher,
    "Sorting": Sorter,
    "PushT": lambda table: TeePusher(),
}


def oracle(task: Task) -> Policy:
    """Return the scripted expert of a task: stateless, for any number of environments."""
    return _SPECIALISTS.get(task.name, CubePusher)(task.table)


SCRIPTED: Catalog[Callable[[Task], Policy]] = Catalog(
    "agent", {"oracle": oracle, "random": lambda task: RandomPolicy()}
)
"""Agents that need no training."""
