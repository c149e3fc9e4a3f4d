"""Gymnasium ids of all tasks in the catalog."""

import gymnasium as gym

from jostle.tasks.catalog import TASKS, task_id
from jostle.tasks.task import Task


def register_all() -> None:
    """Register every task for `gymnasium.make` and `gymnasium.make_vec`."""
    for name, task in TASKS.items():
        if task_id(name) not in gym.registry:
            gym.register(
                id=task_id(name),
                entry_point="jostle.envs.tabletop:TabletopEnv",
                vector_entry_point="jostle.envs.vector:TabletopVectorEnv",
                max_episode_steps=_time_limit(task),
                kwargs={"task": name},
            )


def _time_limit(task: Task) -> int | None:
    """Horizon for Gymnasium's own time limit, which can shorten an episode but not extend it.

    Where more objects mean a longer horizon than the default one, the environment truncates.
    """
    default = task.horizon(task.objects)
    return default if default == task.horizon(task.counts[1]) else None
