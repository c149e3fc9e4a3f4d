"""Steps at which an object was moved. Early in a training they are few: most moves touch nothing.

Shapes: E episodes of T steps, N objects, B samples.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import GoalSpec
from jostle.replay.episodes import Episodes
from jostle.replay.hindsight import Index

_MOVED = 0.01
"""Least change of a coordinate pair in one step that counts: a centimeter, or of a heading's sine
and cosine. Places found in images tremble by less than that."""


class InteractionSampler:
    """Draws some of the samples from the steps at which an object was moved."""

    def __init__(self, fraction: float, goal_spec: GoalSpec, rng: np.random.Generator) -> None:
        """Draw about `fraction` of the samples so."""
        self._fraction, self._goal_spec, self._rng = fraction, goal_spec, rng
        self._episodes: Episodes | None = None
        self._moved: Index = np.zeros(0, np.int64)

    def redraw(self, episodes: Episodes, episode: Index, step: Index) -> NDArray[np.bool_]:
        """Replace some of the samples by such steps, in place; returns which ones, (B,)."""
        chosen = np.zeros(len(episode), bool)
        if self._fraction == 0:
            return chosen
        if episodes is not self._episodes:  # the buffer makes a new view when it has grown
            self._episodes, self._moved = episodes, moved_steps(episodes, self._goal_spec)
        if len(self._moved):
            chosen = self._rng.random(len(episode)) < self._fraction
            drawn = self._moved[self._rng.integers(0, len(self._moved), int(chosen.sum()))]
            episode[chosen], step[chosen] = np.divmod(drawn, episodes.steps)
        return chosen


def moved_steps(episodes: Episodes, goal_spec: GoalSpec) -> Index:
    """Steps after which an object lies elsewhere; indices count through all episodes, (M,).

    Where hindsight goals are objects found in images, so are these: nothing true is read.
    """
    if episodes.goal_steps is None or goal_spec.first_entity == 0:
        places = episodes.achieved[..., :2]  # (E, T+1, N, 2)
        known = np.ones(places.shape[:-1], bool)
    else:
        columns = np.flatnonzero(goal_spec.coordinates)[:2]
        states = episodes.actor.states
        places = states.values[:, :, 0, goal_spec.first_entity :][..., columns]
        known = states.visible[:, :, 0, goal_spec.first_entity :]
    way = np.linalg.norm(np.diff(places, axis=1), axis=-1)  # (E, T, N)
    moved = (way > _MOVED) & known[:, 1:] & known[:, :-1]
    return np.flatnonzero(moved.any(-1))
