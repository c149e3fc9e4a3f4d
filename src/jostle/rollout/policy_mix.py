"""Several policies that share the episodes of a recording, with noise on their actions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation, Policy

ACTIONS = 3
"""Numbers in an action."""


@dataclass(frozen=True)
class Actor:
    """One policy of a mix."""

    policy: Policy | None
    """Who acts; None: uniform random actions."""
    share: float
    """Its share of the episodes."""
    noise: float
    """Standard deviation of the noise on its actions."""


def assign_episodes(shares: Sequence[float], episodes: int) -> NDArray[np.int64]:
    """Which actor each of the first episodes gets, (E,).

    At any length the counts are as near to the shares as whole numbers can be, within one episode
    of each.
    """
    weights = np.asarray(shares, np.float64) / np.sum(shares)
    counts, assigned = np.zeros(len(weights)), np.zeros(episodes, np.int64)
    for number in range(episodes):
        assigned[number] = np.argmax(weights * (number + 1) - counts)
        counts[assigned[number]] += 1
    return assigned


class PolicyMix:
    """Lets one actor play each episode; an episode's randomness depends on its number alone."""

    def __init__(self, actors: Sequence[Actor], epsilon: float, seed: int) -> None:
        """Mix `actors`; with probability `epsilon` an action is random instead."""
        self._actors, self._epsilon, self._seed = actors, epsilon, seed
        self._rngs: list[np.random.Generator] = []
        self.assigned: NDArray[np.int64] = np.zeros(0, np.int64)
        """Actor of each environment, (B,)."""
        self.action: NDArray[np.float32] = np.zeros((0, ACTIONS), np.float32)
        """The last actions, (B, A)."""

    def start(self, first: int, num_envs: int) -> None:
        """Play episode `first + i` in environment i next."""
        numbers = range(first, first + num_envs)
        self._rngs = [np.random.default_rng([self._seed, number]) for number in numbers]
        shares = [actor.share for actor in self._actors]
        self.assigned = assign_episodes(shares, first + num_envs)[first:]

    def reset(self) -> None:
        """Start new episodes in all environments."""
        for actor in self._actors:
            if actor.policy is not None and hasattr(actor.policy, "reset"):
                actor.policy.reset()

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        # Draws of every episode from its own generator: the same number at every step
        draws = np.stack([rng.random(1 + ACTIONS) for rng in self._rngs])  # (B, 1 + A)
        noise = np.stack([rng.standard_normal(ACTIONS) for rng in self._rngs])  # (B, A)
        random = 2 * draws[:, 1:] - 1

        # Actions of the episodes' actors
        actions = random.copy()
        for index, actor in enumerate(self._actors):
            mine = self.assigned == index
            if actor.policy is None or not mine.any():
                continue
            chosen = actor.policy.act(observation) + actor.noise * noise
            explores = draws[:, :1] < self._epsilon
            actions = np.where(mine[:, None] & ~explores, chosen, actions)
        self.action = np.clip(actions, -1, 1).astype(np.float32)
        return self.action
