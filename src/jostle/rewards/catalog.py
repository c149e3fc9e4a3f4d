"""Rewards by name, and how to add one."""

from collections.abc import Callable
from dataclasses import dataclass

from jostle.core.catalog import Registry
from jostle.core.errors import BadValueError
from jostle.core.goal_metric import GoalMetric
from jostle.core.protocols import Reward
from jostle.rewards.distance import DistanceReward


@dataclass(frozen=True, kw_only=True)
class RewardContext:
    """What a reward may know of its task."""

    metric: GoalMetric
    """How far objects are from their goals."""
    farthest: float
    """Largest distance that can be observed, in meters or radians."""


MakeReward = Callable[[RewardContext], Reward]


def _true(context: RewardContext) -> Reward:
    return DistanceReward(context.metric, context.farthest)


REWARDS: Registry[MakeReward] = Registry("reward", {"true": _true})
"""Factories by name; `true` is the distance of true coordinates."""


def make_reward(name: str, context: RewardContext) -> Reward:
    """Build a reward and check that it keeps its contract."""
    reward = REWARDS[name](context)
    for part in ("reads", "minimum", "per_object", "total"):
        if not hasattr(reward, part):
            raise BadValueError(
                f"The reward '{name}' has no '{part}'. A reward has reads, minimum, per_object and "
                "total (jostle.core.protocols.Reward)."
            )
    if reward.reads not in ("coordinates", "entities"):
        raise BadValueError(
            f"The reward '{name}' reads '{reward.reads}'. A reward reads 'coordinates' or "
            "'entities'."
        )
    return reward
