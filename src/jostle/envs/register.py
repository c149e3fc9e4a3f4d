"""Gymnasium ids, from the task catalog, in a loop."""

import gymnasium as gym

from jostle.tasks.catalog import TASKS, task_id


def register_all() -> None:
    """Register every task for `gymnasium.make` and `gymnasium.make_vec`."""
    for name, task in TASKS.items():
        if task_id(name) not in gym.registry:
            gym.register(
                id=task_id(name),
                entry_point="jostle.envs.tabletop:TabletopEnv",
                vector_entry_point="jostle.envs.vector:TabletopVectorEnv",
                max_episode_steps=task.horizon(task.objects),
                kwargs={"task": name},
            )
