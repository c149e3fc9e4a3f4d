"""Chamfer rewards: how far the particles of a state are from those of a goal, in the images.

The paper's appendix on the Chamfer reward, and what its released code computes; they differ in what
an unmatched particle costs (`ChamferConfig.variant`). Particles are matched by features and
measured by positions. Shapes: ... samples, V views, S particles of a state, G of a goal.
"""

import math
from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require
from jostle.rewards.particle_sets import Array, ParticleSet, check_finite, namespace

FARTHEST_L1, FARTHEST_L2 = 4.0, 2.0 * math.sqrt(2.0)
"""Largest distances of two positions in [-1, 1]²; larger ones are clipped."""
_EPSILON = 1e-6
"""The paper's ε, added to the number of particles that share a match."""


@dataclass(frozen=True)
class ChamferConfig:
    """How two sets of particles are compared."""

    variant: Literal["gdac-code", "gdac-paper", "plain"] = "gdac-code"
    """Generalized density-aware Chamfer distance as in the released code or as in the paper's text,
    or the plain Chamfer distance, which counts every particle once.

    gdac-code: all unmatched particles of a side are one group more, at distance 1. gdac-paper: they
    cost 1 besides the mean of the matched groups. plain: each is at distance 1."""
    threshold: float = 6.0
    """Largest squared L2 distance of features that match; infinity matches everything."""
    scale: float = 2.0
    """Factor on the mean over views. With 2, the mean of both directions becomes the paper's sum.
    """

    def __post_init__(self) -> None:
        """Refuse values without meaning."""
        known = ("gdac-code", "gdac-paper", "plain")
        require(
            self.variant in known,
            f"There is no Chamfer reward '{self.variant}', only {', '.join(known)}.",
        )
        require(self.threshold > 0, f"The threshold must be positive, not {self.threshold}.")
        require(self.scale > 0, f"The scale must be positive, not {self.scale}.")

    @property
    def minimum(self) -> float:
        """Least reward of a step."""
        penalty = 1.0 if self.variant == "gdac-paper" else 0.0
        return -self.scale * (FARTHEST_L1 + penalty)


@dataclass(frozen=True)
class SubgoalConfig:
    """How one goal particle per view is compared with a state (SMORL)."""

    norm: Literal["l1", "l2"] = "l1"
    """Norm of the distance in the image: l1 in the released code, l2 in the paper's text."""
    threshold: float = 6.0
    """Largest squared L2 distance of features that match."""
    scale: float = 2.0
    """Factor on the mean over views."""

    def __post_init__(self) -> None:
        """Refuse values without meaning."""
        require(self.norm in ("l1", "l2"), f"The norm is l1 or l2, not '{self.norm}'.")
        require(self.threshold > 0, f"The threshold must be positive, not {self.threshold}.")
        require(self.scale > 0, f"The scale must be positive, not {self.scale}.")

    @property
    def minimum(self) -> float:
        """Least reward of a step."""
        return -self.scale * (FARTHEST_L1 if self.norm == "l1" else FARTHEST_L2)


def chamfer_reward(state: ParticleSet, goal: ParticleSet, config: ChamferConfig) -> Array:
    """Reward (...) of states (..., V, S) for goals (..., V, G): 0 for equal sets.

    A view in which either side has no kept particle gets -1 before the scale. A duplicate of a
    particle changes nothing (but for ε) in the density-aware variants, unless different particles
    share its match: then it has twice the weight within their group.
    """
    check_finite(state, goal)
    xp = namespace(state.positions)
    gap = state.positions[..., :, None, :] - goal.positions[..., None, :, :]  # (..., V, S, G, 2)
    distance = xp.clip(abs(gap).sum(-1), 0.0, FARTHEST_L1)  # (..., V, S, G)
    features = _squared_feature_distance(state.features, goal.features)  # (..., V, S, G)
    to_goal = _direction(distance, features, state.kept, goal.kept, config)  # (..., V)
    swapped = distance.swapaxes(-1, -2), features.swapaxes(-1, -2)  # (..., V, G, S)
    to_state = _direction(*swapped, goal.kept, state.kept, config)
    both = state.kept.any(-1) & goal.kept.any(-1)  # (..., V)
    view = xp.where(both, (to_goal + to_state) / 2, xp.full_like(to_goal, -1.0))
    return config.scale * view.mean(-1)


def subgoal_reward(state: ParticleSet, goal: ParticleSet, config: SubgoalConfig) -> Array:
    """SMORL's reward (...) of states (..., V, S) for one goal particle per view, (..., V, 1).

    Only the distance from the goal particle to its match counts. A view whose goal particle is not
    kept gets 0, one without a match -1 before the scale, as in the released code.
    """
    check_finite(state, goal)
    count = goal.kept.shape[-1]
    require(count == 1, f"A sub-goal is one particle per view, but this goal has {count}.")
    xp = namespace(state.positions)
    gap = goal.positions - state.positions  # (..., V, S, 2)
    if config.norm == "l1":
        distance = xp.clip(abs(gap).sum(-1), 0.0, FARTHEST_L1)  # (..., V, S)
    else:
        distance = xp.clip((gap * gap).sum(-1) ** 0.5, 0.0, FARTHEST_L2)
    difference = goal.features - state.features  # (..., V, S, F)
    features = _masked((difference * difference).sum(-1), state.kept)  # (..., V, S)
    nearest = _one_hot_argmin(features)  # (..., V, S)
    matched = (nearest & (features <= config.threshold)).any(-1)  # (..., V)
    reached = -(distance * nearest).sum(-1)  # (..., V)
    view = xp.where(matched, reached, xp.full_like(reached, -1.0))
    return config.scale * (view * goal.kept[..., 0]).mean(-1)


def _direction(
    distance: Array, features: Array, from_kept: Array, to_kept: Array, config: ChamferConfig
) -> Array:
    """Minus the distance (..., V) of the particles i of one side to their matches j in the other.

    `distance` and `features` are (..., V, i, j).
    """
    xp = namespace(distance)
    features = _masked(features, from_kept[..., :, None] & to_kept[..., None, :])
    nearest = _one_hot_argmin(features) & (features <= config.threshold)  # (..., V, i, j)
    unmatched = from_kept & ~nearest.any(-1)  # (..., V, i)
    one = xp.ones_like(distance.sum((-1, -2)))  # (..., V): keeps the type of the arrays
    if config.variant == "plain":
        cost = (distance * nearest).sum((-1, -2)) + (unmatched * one[..., None]).sum(-1)  # (..., V)
        return -cost / xp.clip((from_kept * one[..., None]).sum(-1), 1, None)

    # Particles that share a match j are one group and count once
    sharing = (nearest * one[..., None, None]).sum(-2)  # (..., V, j)
    groups = ((sharing > 0) * one[..., None]).sum(-1)  # (..., V)
    total = ((distance * nearest).sum(-2) / (sharing + _EPSILON)).sum(-1)
    penalty = unmatched.any(-1) * one
    if config.variant == "gdac-code":
        return -(total + penalty) / xp.clip(groups + penalty, 1, None)
    return -total / xp.clip(groups, 1, None) - penalty


def _squared_feature_distance(first: Array, second: Array) -> Array:
    """Squared L2 distance (..., S, G) of features (..., S, F) and (..., G, F).

    A sum over the columns: nothing cancels, and only one column's differences are stored at once.
    """
    width = first.shape[-1]
    require(
        width == second.shape[-1],
        f"State particles have {width} features, goal particles {second.shape[-1]}: encode both "
        "with one encoder.",
    )
    total = 0.0
    for column in range(width):
        gap = first[..., :, None, column] - second[..., None, :, column]
        total = total + gap * gap
    return total


def _masked(features: Array, mask: Array) -> Array:
    """Distances of features, infinite where a side does not count."""
    xp = namespace(features)
    return xp.where(mask, features, xp.full_like(features, math.inf))


def _one_hot_argmin(features: Array) -> Array:
    """Where the first of the least values of the last axis is; nowhere if all are infinite."""
    xp = namespace(features)
    if features.shape[-1] == 0:
        return features < 0  # nothing to choose from
    index = xp.arange(features.shape[-1], device=features.device)
    return (features.argmin(-1)[..., None] == index) & (features < math.inf)
