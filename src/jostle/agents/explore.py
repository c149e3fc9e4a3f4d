"""Actions for exploring: the actor's, with noise and now and then at random."""

import numpy as np
from numpy.typing import NDArray

from jostle.agents.config import ExploreConfig

Actions = NDArray[np.float32]


def explore(
    actions: Actions, config: ExploreConfig, episodes: int, rng: np.random.Generator
) -> Actions:
    """Perturb actions (B, A) as the schedule says after `episodes` episodes."""
    scale = config.scale(episodes)
    coins = rng.random(1 if config.one_coin else len(actions))[:, None]  # (1 or B, 1)
    random = rng.uniform(-1, 1, actions.shape)
    mixed = np.where(coins < scale * config.epsilon, random, actions)
    noisy = mixed + scale * config.sigma * rng.standard_normal(actions.shape)
    return np.clip(noisy, -1, 1).astype(np.float32)


def uniform(copies: int, width: int, rng: np.random.Generator, sigma: float) -> Actions:
    """Random actions of the warm-up, with the same noise on top as all others."""
    noisy = rng.uniform(-1, 1, (copies, width)) + sigma * rng.standard_normal((copies, width))
    return np.clip(noisy, -1, 1).astype(np.float32)


class Approaches:
    """Which copies are heading for which object: random moves rarely touch anything."""

    def __init__(self, copies: int) -> None:
        """Begin with nobody heading anywhere."""
        self.chosen = np.full(copies, -1)

    def begin(self) -> None:
        """Forget everything: a new round starts."""
        self.chosen[:] = -1

    def step(
        self, config: ExploreConfig, there: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Let some copies turn to an object of those that are `there` (B, N); who is on the way.

        Who is on the way to an object that is not there any more gives up.
        """
        copies = len(self.chosen)
        self.chosen[rng.random(copies) * config.approach_steps < 1] = -1
        self.chosen[~there[np.arange(copies), self.chosen]] = -1
        drawn = (rng.random(there.shape) * there).argmax(-1)  # (B,)
        starts = (self.chosen < 0) & (rng.random(copies) < config.approach) & there.any(-1)
        self.chosen = np.where(starts, drawn, self.chosen)
        return self.chosen >= 0
