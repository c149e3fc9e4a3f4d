"""Goal augmentation: states with goals of other episodes, to be labeled anew by a teacher.

Any image of a state goes with any image of a goal of the same objects. Rendering and encoding are
what costs, so a few hundred episodes serve as thousands of pairs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities
from jostle.replay.batch import gather_entities, gather_steps
from jostle.replay.buffer import EpisodeBuffer


class AugmentedBatch(NamedTuple):
    """States of some episodes with goals of others; first axis B."""

    state: Entities
    goal: Entities
    state_obs: NDArray[np.float32]
    """True states, (B, 1+N, F)."""
    achieved: NDArray[np.float32]
    """Task coordinates of the objects, (B, N, w)."""
    desired: NDArray[np.float32]
    """Task coordinates of the goals, (B, N, w)."""


def augment_goals(buffer: EpisodeBuffer, size: int, rng: np.random.Generator) -> AugmentedBatch:
    """Sample states, and for each the goal of an episode with objects of the same colors."""
    episodes = buffer.view()
    assert episodes.state_obs is not None
    assert episodes.color_ids is not None
    episode = rng.integers(0, len(episodes), size)
    step = rng.integers(0, episodes.steps, size)
    other = same_colors(episodes.color_ids, episode, rng)
    desired = episodes.desired.take(other, 0)
    return AugmentedBatch(
        gather_entities(episodes.actor.states, episode, step).to_torch(),
        episodes.actor.goal.map(lambda values: values.take(other, 0)).to_torch(),
        gather_steps(episodes.state_obs, episode, step),
        gather_steps(episodes.achieved, episode, step),
        _reorder(desired, episodes.color_ids[other], episodes.color_ids[episode]),
    )


def same_colors(
    color_ids: NDArray[np.int64], episode: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each episode (B,) one with objects of the same colors, in any order.

    Args:
        color_ids: Color of each object of each episode, (E, N).
        episode: Episodes that need a partner, (B,).
        rng: Source of randomness.
    """
    # Group episodes by their colors: members lists group after group
    sorted_ids = np.sort(color_ids, axis=1)
    groups = np.unique(sorted_ids, axis=0, return_inverse=True)[1].reshape(-1)  # (E,)
    members = np.argsort(groups, kind="stable")  # (E,)
    sizes = np.bincount(groups)  # (groups,)
    starts = np.cumsum(sizes) - sizes

    # Draw one member of each episode's group
    own = groups[episode]
    return members[starts[own] + rng.integers(0, sizes[own])]


def _reorder(
    values: NDArray[np.float32], color_ids: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Rows (B, N, w) of objects with `color_ids`, in the order of objects with colors `wanted`."""
    by_color = np.argsort(color_ids, axis=1, kind="stable")  # (B, N)
    ranks = np.argsort(np.argsort(wanted, axis=1, kind="stable"), axis=1)  # (B, N)
    order = np.take_along_axis(by_color, ranks, axis=1)  # (B, N)
    return np.take_along_axis(values, order[..., None], axis=1)
