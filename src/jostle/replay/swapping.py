"""Other goals for the same moments, to be labeled anew by a teacher that knows the truth.

A picture of a state and a picture of a goal go together in any combination. What is dear is to draw
and encode them; with every state for every goal, a few hundred episodes teach as many thousands.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities
from jostle.replay.ring import EpisodeRing
from jostle.replay.sampler import at


class Swapped(NamedTuple):
    """Moments of some episodes with goals of others; first axis B."""

    state: Entities
    goal: Entities
    rows: NDArray[np.float32]
    """True state of the moments, (B, 1+N, F)."""
    achieved: NDArray[np.float32]
    """What the objects have achieved there, (B, N, w)."""
    desired: NDArray[np.float32]
    """True coordinates of the goals, (B, N, w)."""


def swap(ring: EpisodeRing, size: int, rng: np.random.Generator) -> Swapped:
    """Draw `size` moments, and for each the goal of some episode with objects of the same looks."""
    held = ring.view()
    assert held.rows is not None
    assert held.looks is not None
    episode = rng.integers(0, len(held), size)
    step = rng.integers(0, held.actions.shape[1], size)
    other = like(held.looks, episode, rng)
    return Swapped(
        Entities.of(at(held.states, episode, step), at(held.visible, episode, step)),
        Entities.of(held.goals.take(other, 0), held.goals_visible.take(other, 0)),
        at(held.rows, episode, step),
        at(held.achieved, episode, step),
        _in_order(held.desired.take(other, 0), held.looks[other], held.looks[episode]),
    )


def like(
    looks: NDArray[np.int64], episode: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each episode (B,) one with objects of the same looks, in whatever order.

    Args:
        looks: Which look each object of each episode has, (E, N).
        episode: Episodes that look for a partner, (B,).
        rng: Who draws.
    """
    groups = np.unique(np.sort(looks, axis=1), axis=0, return_inverse=True)[1].reshape(-1)  # (E,)
    members = np.argsort(groups, kind="stable")  # (E,): group after group
    counts = np.bincount(groups)  # (groups,)
    first = np.cumsum(counts) - counts
    mine = groups[episode]
    return members[first[mine] + rng.integers(0, counts[mine])]


def _in_order(
    values: NDArray[np.float32], looks: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Rows (B, N, w) of objects with `looks`, in the order of the objects with looks `wanted`."""
    found = np.argsort(looks, axis=1, kind="stable")  # (B, N): who comes n-th by looks
    ranks = np.argsort(np.argsort(wanted, axis=1, kind="stable"), axis=1)  # (B, N)
    order = np.take_along_axis(found, ranks, axis=1)  # (B, N)
    return np.take_along_axis(values, order[..., None], axis=1)
