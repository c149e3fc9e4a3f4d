"""What an agent sees and expects at a decision: entities, attention, matches and values."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, POSITION, SCALE, Entities, EntityLayout
from jostle.core.errors import BadValueError
from jostle.core.protocols import Observation
from jostle.playground.values import Critics
from jostle.rollout.policies import AgentPolicy

MATCH_THRESHOLD = 6.0
"""Largest squared distance of features that match, as in the image reward."""
_DEFAULT_HALF_EXTENT = 0.04
"""Half the side of the box around an entity without a size, as a fraction of the image."""


@dataclass(frozen=True)
class Inspection:
    """What an agent saw at one decision; ready for JSON."""

    views: list[list[list[float]]] = field(default_factory=list)
    """Boxes of the visible entities of each view: x, y, half width, half height as fractions of the
    image, attention (relative to the largest), and the number of its match in the goal or -1."""
    goal_views: list[list[list[float]]] = field(default_factory=list)
    """The same of the goal images: x, y, half width, half height, its own number."""
    attention: list[float] = field(default_factory=list)
    """For state agents: attention to the gripper and to each object."""
    values: list[float] = field(default_factory=list)
    """Value of each object, or one of all."""
    cameras: list[str] = field(default_factory=list)
    """Cameras of the views."""

    def to_json(self) -> dict[str, Any]:
        """Fields that are not empty."""
        return {name: value for name, value in vars(self).items() if value}


def inspect_decision(
    policy: AgentPolicy, observation: Observation, critics: Critics | None
) -> tuple[NDArray[np.float32], Inspection]:
    """Let the agent act once, and report what it saw."""
    state, goal = policy.observe(observation)
    actions = policy.act_on(state, goal)
    attention = _attention(policy, state, goal)  # (V, K) or None
    values = [] if critics is None else critics.values(state, goal, actions, observation)
    sensor = policy.agent.sensor
    if sensor is None:
        weights = [] if attention is None else attention[0].tolist()
        return actions, Inspection(attention=weights, values=values)
    if POSITION not in policy.layout or sensor.finds_objects:  # no particles with boxes
        return actions, Inspection(values=values)
    matches = match_particles(state, goal, policy.layout)  # (V, K)
    return actions, Inspection(
        views=_boxes(state, policy.layout, sensor.encoder.config.image_size, attention, matches),
        goal_views=_goal_boxes(goal, policy.layout, sensor.encoder.config.image_size),
        values=values,
        cameras=list(sensor.cameras),
    )


def match_particles(state: Entities, goal: Entities, layout: EntityLayout) -> NDArray[np.int64]:
    """For each particle of a state (1, V, K), the goal particle most like it, or -1; (V, K)."""
    if FEATURES not in layout:
        return np.full(tuple(state.visible.shape[1:]), -1)
    columns = layout[FEATURES]
    first, second = (np.asarray(x.values[0][..., columns], np.float64) for x in (state, goal))
    distance = np.square(first[:, :, None] - second[:, None]).sum(-1)  # (V, S, G)
    distance[~np.asarray(state.visible[0])] = np.inf
    distance.swapaxes(1, 2)[~np.asarray(goal.visible[0])] = np.inf
    nearest = distance.argmin(-1)  # (V, S)
    return np.where(distance.min(-1) <= MATCH_THRESHOLD, nearest, -1)


def _attention(policy: AgentPolicy, state: Entities, goal: Entities) -> NDArray[np.float32] | None:
    """Attention relative to the largest, (V, K), if the agent has any."""
    try:
        weights = policy.agent.attention(state, goal)[0]
    except BadValueError:
        return None
    return weights / max(float(weights.max()), 1e-9)


def _boxes(
    state: Entities,
    layout: EntityLayout,
    side: int,
    attention: NDArray[np.float32] | None,
    matches: NDArray[np.int64],
) -> list[list[list[float]]]:
    places = places_of(state, layout, side)  # (V, K, 4)
    weights = np.ones(places.shape[:2]) if attention is None else attention
    rows = np.concatenate((places, weights[..., None], matches[..., None]), axis=-1)
    return [_rounded(view[seen]) for view, seen in zip(rows, _visible(state), strict=True)]


def _goal_boxes(goal: Entities, layout: EntityLayout, side: int) -> list[list[list[float]]]:
    places = places_of(goal, layout, side)
    numbers = np.broadcast_to(np.arange(places.shape[1])[:, None], (*places.shape[:2], 1))
    rows = np.concatenate((places, numbers), axis=-1)
    return [_rounded(view[seen]) for view, seen in zip(rows, _visible(goal), strict=True)]


def places_of(entities: Entities, layout: EntityLayout, side: int) -> NDArray[np.float64]:
    """Centers and half sizes as fractions of the image, (V, K, 4): x, y, width, height."""
    values = torch.as_tensor(entities.values)[0].double()
    yx = (values[..., layout[POSITION]] + 1) / 2 * (side - 1) + 0.5
    half = torch.full_like(yx, _DEFAULT_HALF_EXTENT)
    if SCALE in layout:
        half = values[..., layout[SCALE]].sigmoid() / 2
    return torch.cat((yx.flip(-1) / side, half.flip(-1)), -1).numpy()


def _visible(entities: Entities) -> NDArray[np.bool_]:
    return np.asarray(entities.visible[0], bool)


def _rounded(rows: NDArray[np.float64]) -> list[list[float]]:
    rounded: list[list[float]] = np.round(rows, 4).tolist()
    return rounded
