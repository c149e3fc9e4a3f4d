"""Where the goal of each object comes from: its own episode, another one, or where it lies now."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.replay.config import HindsightConfig
from jostle.replay.hindsight import Index, overlap


class GoalSources(NamedTuple):
    """Episode and step at which each object is where its goal is, (B, N) each."""

    episode: Index
    step: Index

    def positions(self, achieved: NDArray[np.float32]) -> NDArray[np.float32]:
        """Positions of these goals, (B, N, 2), from (E, T+1, N, w)."""
        objects = np.arange(self.step.shape[1])
        return achieved[self.episode, self.step, objects][..., :2]


def mix_sources(
    own: GoalSources,
    step: Index,
    achieved: NDArray[np.float32],
    last: Index,
    config: HindsightConfig,
    rng: np.random.Generator,
) -> GoalSources:
    """Let some objects stay, and take the goals of others from other episodes.

    Goals that would overlap are rejected: such a sample keeps its own sources.

    Args:
        own: Later steps of the samples' own episodes.
        step: Steps of the transitions, (B,).
        achieved: Coordinates of all episodes, (E, T+1, N, w).
        last: Latest step of each episode that may become a goal, (E,).
        config: Fractions of objects that stay, and of goals of other episodes.
        rng: Source of randomness.
    """
    # One draw decides for each object
    draw = rng.random(own.step.shape)  # (B, N)
    stays = draw < config.stay_fraction
    elsewhere = ~stays & (draw < config.stay_fraction + config.other_episode_fraction)

    # One object of each sample has to move, even if it does not in its own episode
    rows, mover = np.arange(len(step)), rng.integers(0, stays.shape[1], len(step))
    now = GoalSources(own.episode, np.broadcast_to(step[:, None], own.step.shape))
    path = own.positions(achieved) - now.positions(achieved)  # (B, N, 2)
    moves = np.linalg.norm(path[rows, mover], axis=-1) >= config.min_goal_separation  # (B,)
    stays[rows, mover] = False
    elsewhere[rows, mover] |= ~moves

    # In other episodes any step will do, where the same object is present
    candidates = np.flatnonzero(last > 0)
    other = rng.choice(candidates, own.episode.shape) if len(candidates) else own.episode
    other_step = (rng.random(own.step.shape) * (last[other] + 1)).astype(np.int64)
    if achieved.shape[-1] > 2:  # the last column says which objects are present
        objects = np.arange(stays.shape[1])
        elsewhere &= (achieved[other, other_step, objects, 2] > 0) & (
            achieved[own.episode, step[:, None], objects, 2] > 0
        )
    mixed = GoalSources(
        np.where(elsewhere, other, own.episode),
        np.where(elsewhere, other_step, np.where(stays, now.step, own.step)),
    )
    overlapping = overlap(mixed.positions(achieved), config.min_goal_separation)[:, None]
    return GoalSources(
        np.where(overlapping, own.episode, mixed.episode),
        np.where(overlapping, own.step, mixed.step),
    )
