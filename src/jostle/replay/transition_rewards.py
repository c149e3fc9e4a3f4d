"""Rewards of sampled transitions: one for all objects, or one per object."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import Entities
from jostle.core.errors import BadValueError
from jostle.core.protocols import Reward
from jostle.replay.batch import Potential, gather_entities, gather_steps
from jostle.replay.episodes import Episodes
from jostle.replay.hindsight import Index


@dataclass(frozen=True)
class RewardSpec:
    """How transitions are rewarded."""

    reward: Reward
    """Reward of what is achieved against what is desired."""
    gamma: float
    """Discount per step."""
    potential_baseline: bool = False
    """Whether batches also hold the values of leaving everything as it is."""
    per_object: bool = False
    """Whether every object has a reward of its own."""
    shared: bool = False
    """Whether every object has the mean reward of the objects instead; with `per_object`."""


class Goals(NamedTuple):
    """Goals of a batch: as the actor sees them, as task coordinates, and as found objects."""

    entities: Entities
    coordinates: NDArray[np.float32]
    """(B, N, w)."""
    ties: NDArray[np.int8] | None = None
    """Which object each goal particle lies on, -1: none, (B, V, K), if they have values."""
    objects: Entities | None = None
    """Objects found in the goals' images, (B, 1, M, W), for rewards that read them."""

    def replace_rows(self, rows: slice | Index, others: "Goals") -> None:
        """Give some samples other goals, in place."""
        self.coordinates[rows] = others.coordinates
        for own, other in ((self.entities, others.entities), (self.objects, others.objects)):
            if own is not None and other is not None:
                own.values[rows], own.visible[rows] = other
        if self.ties is not None and others.ties is not None:
            self.ties[rows] = others.ties


class TransitionRewards:
    """Rewards (B,) of sampled transitions, or (B, N) with a reward per object."""

    def __init__(self, spec: RewardSpec, n_step: int) -> None:
        """Add up the rewards of `n_step` steps."""
        self._spec, self._n_step = spec, n_step

    def n_step(
        self, episodes: Episodes, episode: Index, step: Index, goals: Goals
    ) -> tuple[NDArray[np.float32], Index]:
        """Discounted rewards of the next n steps or those that are left, and how many (B,)."""
        ahead = np.minimum(self._n_step, episodes.steps - step)
        total = self._at(episodes, episode, step + 1, goals)
        for k in range(1, self._n_step):
            later = step + np.minimum(k + 1, ahead)
            reward = self._at(episodes, episode, later, goals)
            left = (k < ahead).reshape(-1, *(1,) * (reward.ndim - 1))  # (B,) or (B, 1)
            total += np.where(left, np.float32(self._spec.gamma**k) * reward, np.float32(0.0))
        return total, ahead

    def discount(self, ahead: Index) -> NDArray[np.float32]:
        """Factor (B,) on the value of the state so many steps ahead."""
        return np.power(self._spec.gamma, ahead, dtype=np.float32)

    def potential(
        self, episodes: Episodes, episode: Index, ends: tuple[Index, Index], goals: Goals
    ) -> Potential | None:
        """The present reward forever after, at both ends, for a potential baseline."""
        if not self._spec.potential_baseline:
            return None
        forever = np.float32(1 / (1 - self._spec.gamma))
        rewards = (self._at(episodes, episode, end, goals) for end in ends)
        return Potential(*(torch.from_numpy(reward * forever) for reward in rewards))

    def present(
        self, episodes: Episodes, episode: Index, step: Index, goals: Goals
    ) -> Tensor | None:
        """Which objects have a reward of their own, (B, N); None with one reward for all.

        With a reward per goal particle, how much each counts, (B, V * K).
        """
        if not self._spec.per_object:
            return None
        return torch.from_numpy(self._per_object(episodes, episode, step, goals)[1])

    def _at(
        self, episodes: Episodes, episode: Index, step: Index, goals: Goals
    ) -> NDArray[np.float32]:
        """Reward of being at a step."""
        if self._spec.per_object:
            return self._per_object(episodes, episode, step, goals)[0]
        return self._spec.reward.total(*self._seen(episodes, episode, step, goals))

    def _per_object(
        self, episodes: Episodes, episode: Index, step: Index, goals: Goals
    ) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Rewards of the objects, or of goal particles, and which of them count, (B, N) each."""
        rewards = self._spec.reward.per_object(*self._seen(episodes, episode, step, goals))
        if rewards is None:
            raise BadValueError(
                "Values per entity need a reward per object, and this reward has one number only. "
                "Train with --values pooled."
            )
        if self._spec.shared:
            rewards = _mean_for_all(*rewards)
        return rewards if goals.ties is None else per_particle(rewards[0], goals.ties)

    def _seen(
        self, episodes: Episodes, episode: Index, step: Index, goals: Goals
    ) -> tuple[Any, Any]:
        """State and goal: the reward is shown only what it reads."""
        if self._spec.reward.reads == "coordinates":
            return gather_steps(episodes.achieved, episode, step), goals.coordinates
        if self._spec.reward.reads == "objects":
            assert episodes.objects is not None
            return gather_entities(episodes.objects.states, episode, step), goals.objects
        return gather_entities(episodes.actor.states, episode, step), goals.entities


def _mean_for_all(
    rewards: NDArray[np.float32], present: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The mean reward of the present objects for each of them, (B, N)."""
    count = np.maximum(present.sum(-1, keepdims=True), 1)
    mean = (rewards * present).sum(-1, keepdims=True) / count  # (B, 1)
    return (mean * present).astype(np.float32), present


def per_particle(
    rewards: NDArray[np.float32], ties: NDArray[np.int8]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rewards of goal particles by those of their objects, and how much each counts, (B, V*K) each.

    Particles of one object, in all views, share a weight of 1: the weighted mean is the mean over
    the objects that have particles.

    Args:
        rewards: Of the objects, (B, N).
        ties: Which object each goal particle lies on, -1: none, (B, V, K).
    """
    object_of = ties.reshape(len(ties), -1).astype(np.int64)  # (B, V*K)
    tied = object_of >= 0
    same = (object_of[:, :, None] == object_of[:, None]) & tied[:, None]  # (B, V*K, V*K)
    weight = tied / np.maximum(same.sum(-1), 1)
    own = np.take_along_axis(rewards, np.maximum(object_of, 0), axis=1) * tied
    return own.astype(np.float32), weight.astype(np.float32)
