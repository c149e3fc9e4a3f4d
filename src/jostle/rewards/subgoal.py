"""SMORL's reward of images: how far one goal particle is from the particle that looks like it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, Entities
from jostle.rewards.chamfer import SubgoalConfig, subgoal_reward
from jostle.rewards.particle_sets import particle_set
from jostle.rewards.particles import SetReward


@dataclass(frozen=True)
class SubgoalReward(SetReward):
    """How far a sub-goal of one particle per view is from the state."""

    config: SubgoalConfig

    def total(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Reward of particles (B, V, K, D) for sub-goals (B, V, 1, D), (B,)."""
        kept = self.classifier(state.values[..., self.layout[FEATURES]])
        sets = particle_set(state, self.layout, kept), particle_set(goal, self.layout)
        reward: NDArray[np.float32] = subgoal_reward(*sets, self.config).astype(np.float32)
        return reward
