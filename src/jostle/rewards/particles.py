"""Chamfer rewards of an agent's particles: those that show objects, by a classifier of features."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, Entities, EntityLayout
from jostle.core.object_classifier import ObjectClassifier
from jostle.rewards.chamfer import ChamferConfig, chamfer_reward
from jostle.rewards.particle_sets import ParticleSet, particle_set


class HasMinimum(Protocol):
    """The settings of a reward."""

    @property
    def minimum(self) -> float:
        """Least reward in one step."""
        ...


@dataclass(frozen=True)
class SetReward:
    """One number for a whole set of particles."""

    layout: EntityLayout
    """Which columns of a particle are what."""
    classifier: ObjectClassifier
    """Which particles show objects."""
    config: HasMinimum
    """How two sets are compared."""
    reads: ClassVar[Literal["coordinates", "entities", "objects"]] = "entities"

    @property
    def minimum(self) -> float:
        """Least reward in one step."""
        return self.config.minimum

    def per_object(self, state: Entities, goal: Entities) -> None:
        """None: particles of one object do not know of each other."""
        del state, goal


@dataclass(frozen=True)
class ParticleReward(SetReward):
    """How far the particles of a set are from those of the goal."""

    config: ChamferConfig

    def total(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Reward of particles (B, V, K, D) for those of goals, (B,)."""
        sets = self._objects(state), self._objects(goal)
        reward: NDArray[np.float32] = chamfer_reward(*sets, self.config).astype(np.float32)
        return reward

    def _objects(self, particles: Entities) -> ParticleSet:
        """The particles that show objects."""
        kept = self.classifier(particles.values[..., self.layout[FEATURES]])
        return _compact(particle_set(particles, self.layout, kept))


def _compact(particles: ParticleSet) -> ParticleSet:
    """The kept particles first, and no more places than the fullest view needs: few show objects.

    Distances of all pairs are what costs.
    """
    room = max(int(particles.kept.sum(-1).max(initial=0)), 1)
    order = np.argsort(~particles.kept, axis=-1, kind="stable")[..., :room]  # (B, V, room)
    return ParticleSet(
        np.take_along_axis(particles.positions, order[..., None], -2),
        np.take_along_axis(particles.features, order[..., None], -2),
        np.take_along_axis(particles.kept, order, -1),
    )
