"""Rewards by name, and how to add one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from jostle.core.catalog import Registry
from jostle.core.entities import EntityLayout
from jostle.core.errors import BadValueError
from jostle.core.found_objects import found_layout
from jostle.core.goal_metric import GoalMetric
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.protocols import Reward
from jostle.rewards.chamfer import ChamferConfig, SubgoalConfig
from jostle.rewards.distance import DistanceReward
from jostle.rewards.particles import ParticleReward
from jostle.rewards.rows import RowReward
from jostle.rewards.subgoal import SubgoalReward
from jostle.rewards.table import TableReward


@dataclass(frozen=True, kw_only=True)
class ImageContext:
    """What a reward of images may know of a pixel agent."""

    layout: EntityLayout
    """Which columns of the actor's particles are what."""
    objects: EntityLayout
    """Columns of objects found in images (`jostle.core.found_objects`)."""
    classifier: ObjectClassifier
    """Which particles show objects, and which look alike."""


@dataclass(frozen=True, kw_only=True)
class RewardContext:
    """What a reward may know of its task."""

    metric: GoalMetric
    """How far objects are from their goals."""
    farthest: float
    """Largest distance that can be observed, in meters or radians."""
    images: ImageContext | None = None
    """What is known of images, for rewards of `IMAGE_REWARDS`."""
    found: EntityLayout | None = None
    """Columns of the actor's entities, if these are objects found in images."""


MakeReward = Callable[[RewardContext], Reward]


def _true(context: RewardContext) -> Reward:
    return DistanceReward(context.metric, context.farthest)


def _table(context: RewardContext) -> Reward:
    return make_table_reward(context) if context.found is None else make_row_reward(context)


def make_row_reward(context: RewardContext) -> RowReward:
    """The table reward of an agent whose entities are objects found in images."""
    assert context.found is not None
    scale = context.metric.scale
    return RowReward(context.found, scale, 2 * scale)


def make_table_reward(context: RewardContext) -> TableReward:
    """The table reward of a task; also the detector of success by images.

    The scale is half the table's diagonal, and nothing on the table is farther than all of it.
    """
    images, scale = images_of(context), context.metric.scale
    return TableReward(images.objects, images.classifier.same_color, scale, 2 * scale)


def _chamfer(
    context: RewardContext, variant: Literal["gdac-code", "gdac-paper", "plain"]
) -> Reward:
    images = images_of(context)
    return ParticleReward(images.layout, images.classifier, ChamferConfig(variant))


def make_subgoal_reward(context: RewardContext, norm: Literal["l1", "l2"] = "l1") -> SubgoalReward:
    """SMORL's reward of one goal particle per view; also says which sub-goals are reached."""
    images = images_of(context)
    return SubgoalReward(images.layout, images.classifier, SubgoalConfig(norm))


REWARDS: Registry[MakeReward] = Registry(
    "reward",
    {
        "true": _true,
        "table": _table,
        "gdac": partial(_chamfer, variant="gdac-code"),
        "gdac-paper": partial(_chamfer, variant="gdac-paper"),
        "chamfer": partial(_chamfer, variant="plain"),
        "smorl": make_subgoal_reward,
        "smorl-paper": partial(make_subgoal_reward, norm="l2"),
    },
)
"""Factories by name; `true` is the distance of true coordinates."""
SUBGOAL_REWARDS: set[str] = {"smorl", "smorl-paper"}
"""Rewards of one goal particle per view, for SMORL: L1 distances as in the released code, or L2 as
in the paper's text."""
IMAGE_REWARDS: set[str] = {"table", "gdac", "gdac-paper", "chamfer"} | SUBGOAL_REWARDS
"""Rewards that need a classifier of objects and read nothing but images."""


def images_of(context: RewardContext) -> ImageContext:
    """What is known of images; a task without any has no such reward."""
    if context.images is None:
        raise BadValueError(
            "This reward reads images: train a pixel agent with an encoder of particles (--obs "
            "pixels)."
        )
    return context.images


def image_context(
    layout: EntityLayout, features: int, views: int, classifier: ObjectClassifier
) -> ImageContext:
    """What a reward may know of particles with so many features in so many views."""
    return ImageContext(layout=layout, objects=found_layout(features, views), classifier=classifier)


def make_reward(name: str, context: RewardContext) -> Reward:
    """Build a reward and check that it keeps its contract."""
    reward = REWARDS[name](context)
    for part in ("reads", "minimum", "per_object", "total"):
        if not hasattr(reward, part):
            raise BadValueError(
                f"The reward '{name}' has no '{part}'. A reward has reads, minimum, per_object and "
                "total (jostle.core.protocols.Reward)."
            )
    if reward.reads not in ("coordinates", "entities", "objects"):
        raise BadValueError(
            f"The reward '{name}' reads '{reward.reads}'. A reward reads 'coordinates', "
            "'entities' or 'objects'."
        )
    if reward.reads == "objects" and name not in IMAGE_REWARDS:
        raise BadValueError(
            f"The reward '{name}' reads objects found in images, which need a classifier: register "
            "it with register_reward(..., images=True)."
        )
    return reward
