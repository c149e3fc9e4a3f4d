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
    desired: NDArray[np.float32]
    """True coordinates of the goals, (B, N, w)."""


def swap(ring: EpisodeRing, size: int, rng: np.random.Generator) -> Swapped:
    """Draw `size` moments, and for each the goal of an episode drawn on its own."""
    held = ring.view()
    assert held.rows is not None
    episode, other = rng.integers(0, len(held), (2, size))
    step = rng.integers(0, held.actions.shape[1], size)
    return Swapped(
        Entities.of(at(held.states, episode, step), at(held.visible, episode, step)),
        Entities.of(held.goals.take(other, 0), held.goals_visible.take(other, 0)),
        at(held.rows, episode, step),
        held.desired.take(other, 0),
    )
