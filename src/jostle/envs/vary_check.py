"""Check of varied episodes before any of them runs."""

from collections.abc import Iterable, Mapping
from typing import Any

from gymnasium.utils.seeding import np_random

from jostle.core.errors import JostleError
from jostle.envs.options import split_options
from jostle.tasks.catalog import TASKS
from jostle.tasks.feasibility import check_possible
from jostle.tasks.vary import Vary


def check_varied_episodes(
    vary: Vary, task: str, env_kwargs: Mapping[str, Any], seeds: Iterable[int]
) -> None:
    """Refuse variations with which any of the episodes is impossible; without any, do nothing.

    `env_kwargs` are the options of the environments, variations included.
    """
    if not vary:
        return
    options, task_options = split_options(dict(env_kwargs))
    name = TASKS[task].name
    try:
        sampler = options.episode_sampler(name, task_options)
        for seed in seeds:
            check_possible(sampler.sample(np_random(seed)[0]))
    except JostleError as error:
        raise type(error)(f"{name} cannot be varied by '{vary}': {error}") from error
