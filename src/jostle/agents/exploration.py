"""Exploration: noise, random actions, and moves towards objects."""

import numpy as np
from numpy.typing import NDArray

from jostle.agents.config import ExploreConfig

Actions = NDArray[np.float32]


def explore(
    actions: Actions, config: ExploreConfig, episodes: int, rng: np.random.Generator
) -> Actions:
    """Perturb actions (B, A) by the schedule's values after `episodes` episodes."""
    scale = config.scale(episodes)
    draws = rng.random(len(actions) if config.per_env_epsilon else 1)[:, None]  # (B or 1, 1)
    random = rng.uniform(-1, 1, actions.shape)
    mixed = np.where(draws < scale * config.epsilon, random, actions)
    noisy = mixed + scale * config.sigma * rng.standard_normal(actions.shape)
    return np.clip(noisy, -1, 1).astype(np.float32)


def random_actions(num_envs: int, width: int, rng: np.random.Generator, sigma: float) -> Actions:
    """Random actions before learning starts, with the same noise as all others."""
    noisy = rng.uniform(-1, 1, (num_envs, width)) + sigma * rng.standard_normal((num_envs, width))
    return np.clip(noisy, -1, 1).astype(np.float32)


class ReachExploration:
    """Which environments are moving towards which object: random actions rarely touch anything."""

    def __init__(self, num_envs: int) -> None:
        """Start without any target."""
        self.target = np.full(num_envs, -1)
        """Index of the object that each environment moves to, -1: none, (B,)."""

    def reset(self) -> None:
        """Drop all targets: new episodes start."""
        self.target[:] = -1

    def step(
        self, config: ExploreConfig, available: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Let some environments pick a target among the `available` objects (B, N).

        Targets that are no longer available are dropped.

        Returns:
            Which environments have a target, (B,).
        """
        num_envs = len(self.target)
        self.target[rng.random(num_envs) * config.reach_steps < 1] = -1
        self.target[~available[np.arange(num_envs), self.target]] = -1
        drawn = (rng.random(available.shape) * available).argmax(-1)  # (B,)
        starts = rng.random(num_envs) < config.reach_prob
        starts &= (self.target < 0) & available.any(-1)
        self.target = np.where(starts, drawn, self.target)
        return self.target >= 0
