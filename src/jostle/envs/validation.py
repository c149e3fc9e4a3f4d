"""Validation of what callers pass to an environment: errors are reported before physics runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.catalog import suggest
from jostle.core.checks import check_int
from jostle.core.errors import BadActionError, UnknownNameError, require
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.episode_sampler import EpisodeSampler

_RESET_OPTIONS = ("reset_mask", "episode")
STATE_KEYS = ("states", "rngs", "episodes", "elapsed", "returns", "done")
"""What `get_state` returns."""


def validate_actions(actions: Any, num_envs: int) -> NDArray[np.float64]:
    """Return the actions as an array: (num_envs, 3), finite."""
    try:
        array = np.asarray(actions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadActionError(f"Actions must be numbers, not {actions!r}.") from error
    if array.shape != (num_envs, 3):
        raise BadActionError(f"Actions must have the shape ({num_envs}, 3), not {array.shape}.")
    if not np.isfinite(array).all():
        broken = np.flatnonzero(~np.isfinite(array).all(-1)).tolist()
        raise BadActionError(f"The actions of environments {broken} contain NaN or infinity.")
    return array


def parse_reset_options(
    options: dict[str, Any] | None, num_envs: int
) -> tuple[NDArray[np.bool_], Any]:
    """Split reset options into the mask of environments to reset and the stored episodes."""
    options = dict(options or {})
    for name in options:
        if name not in _RESET_OPTIONS:
            raise UnknownNameError(
                f"reset has no option '{name}'. {suggest(name, list(_RESET_OPTIONS))}"
            )
    value = options.get("reset_mask")
    mask = np.ones(num_envs, bool) if value is None else np.asarray(value)
    require(
        mask.shape == (num_envs,) and mask.dtype == bool and bool(mask.any()),
        f"reset_mask must be {num_envs} booleans, at least one of them True, not {value!r}.",
    )
    return mask, options.get("episode")


def parse_episodes(stored: Any, count: int, sampler: EpisodeSampler) -> list[EpisodeSpec]:
    """Read `count` stored episodes: one for all, or a list; as objects or as JSON."""
    is_list = isinstance(stored, Sequence) and not isinstance(stored, str)
    items = list(stored) if is_list else [stored] * count
    require(
        len(items) == count, f"{count} environments reset, but {len(items)} episodes were given."
    )
    episodes = [
        item if isinstance(item, EpisodeSpec) else EpisodeSpec.from_json(item) for item in items
    ]
    for episode in episodes:
        sampler.check(episode)
    return episodes


def check_state(state: Any, num_envs: int) -> None:
    """Refuse what `get_state` of so many environments cannot have returned."""
    require(isinstance(state, Mapping), f"A state is what get_state() returns, not {state!r}.")
    missing = [name for name in STATE_KEYS if name not in state]
    require(not missing, f"A state is what get_state() returns; this one lacks {missing}.")
    stored = len(state["episodes"])
    require(stored == num_envs, f"This state has {stored} environments, but there are {num_envs}.")


def spread_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """Give environment i the seed `seed + i`, or its own element of a sequence of seeds."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer):
        check_int("seed", seed, 0)
        return [int(seed) + index for index in range(num_envs)]
    require(isinstance(seed, Sequence | np.ndarray), f"A seed is a whole number, not {seed!r}.")
    seeds = list(seed)
    for own in seeds:
        if own is not None:
            check_int("seed", own, 0)
    require(
        len(seeds) == num_envs,
        f"Give one seed, or one per environment ({num_envs}), not {len(seeds)}.",
    )
    return seeds
