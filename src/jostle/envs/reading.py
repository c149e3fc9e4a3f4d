"""Reading what callers hand to an environment: every mistake is named before physics sees it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.catalog import suggest
from jostle.core.errors import BadActionError, UnknownNameError, require
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.recipe import Recipe

_RESET_OPTIONS = ("reset_mask", "episode")


def read_actions(actions: Any, copies: int) -> NDArray[np.float64]:
    """Check actions: (copies, 3), finite."""
    try:
        wanted = np.asarray(actions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadActionError(f"Actions must be numbers, not {actions!r}.") from error
    if wanted.shape != (copies, 3):
        raise BadActionError(f"Actions must have the shape ({copies}, 3), not {wanted.shape}.")
    if not np.isfinite(wanted).all():
        broken = np.flatnonzero(~np.isfinite(wanted).all(-1)).tolist()
        raise BadActionError(f"The actions of copies {broken} hold NaN or infinity.")
    return wanted


def read_reset_options(
    options: dict[str, Any] | None, copies: int
) -> tuple[NDArray[np.bool_], Any]:
    """Split reset options into the mask of copies to reset and the stored episodes."""
    options = dict(options or {})
    for word in options:
        if word not in _RESET_OPTIONS:
            raise UnknownNameError(
                f"reset has no option '{word}'. {suggest(word, list(_RESET_OPTIONS))}"
            )
    mask = options.get("reset_mask")
    found = np.ones(copies, bool) if mask is None else np.asarray(mask)
    require(
        found.shape == (copies,) and found.dtype == bool and bool(found.any()),
        f"reset_mask must be {copies} booleans, at least one of them True, not {mask!r}.",
    )
    return found, options.get("episode")


def read_episodes(stored: Any, count: int, recipe: Recipe) -> list[EpisodeSpec]:
    """Read `count` stored episodes: one for all, or a list; as objects or as JSON."""
    several = isinstance(stored, Sequence) and not isinstance(stored, str)
    found = list(stored) if several else [stored] * count
    require(len(found) == count, f"{count} copies reset, but {len(found)} episodes were given.")
    episodes = [
        one if isinstance(one, EpisodeSpec) else EpisodeSpec.from_json(one) for one in found
    ]
    for episode in episodes:
        recipe.check(episode)
    return episodes


def read_seeds(seed: int | Sequence[int | None] | None, copies: int) -> list[int | None]:
    """Spread one seed over the copies (seed, seed + 1, ...), or take one per copy."""
    if seed is None:
        return [None] * copies
    if isinstance(seed, int | np.integer):
        return [int(seed) + copy for copy in range(copies)]
    seeds = list(seed)
    require(len(seeds) == copies, f"Give one seed, or one per copy ({copies}), not {len(seeds)}.")
    return seeds
