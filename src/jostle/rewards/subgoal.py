"""SMORL's reward of images: how far one goal particle is from the particle that looks like it."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, Entities, EntityLayout
from jostle.core.object_classifier import ObjectClassifier
from jostle.rewards.chamfer import SubgoalConfig, subgoal_reward
from jostle.rewards.particle_sets import particle_set


@dataclass(frozen=True)
class SubgoalReward:
    """One number for a sub-goal of one particle per view."""

    layout: EntityLayout
    """Which columns of a particle are what."""
    classifier: ObjectClassifier
    """Which particles of a state show objects."""
    config: SubgoalConfig
    """How a sub-goal is compared with a state."""
    reads: ClassVar[Literal["coordinates", "entities", "objects"]] = "entities"

    @property
    def minimum(self) -> float:
        """Least reward in one step."""
        return self.config.minimum

    def per_object(self, state: Entities, goal: Entities) -> None:
        """None: there is one goal only."""
        del state, goal

    def total(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Reward of particles (B, V, K, D) for sub-goals (B, V, 1, D), (B,)."""
        kept = self.classifier(state.values[..., self.layout[FEATURES]])
        sets = particle_set(state, self.layout, kept), particle_set(goal, self.layout)
        reward: NDArray[np.float32] = subgoal_reward(*sets, self.config).astype(np.float32)
        return reward
