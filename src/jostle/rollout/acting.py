"""Who acts while frames are collected, as a function of the episode's number alone."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Policy
from jostle.envs.vector import Observation
from jostle.rollout.collection import Collection
from jostle.scene.build import build
from jostle.scene.shapes import spacing
from jostle.scene.spec import CUBE_SIDE, ObjectSpec
from jostle.tasks.episode import EpisodeSpec, Planar
from jostle.tasks.recipe import Recipe

_GAP = 0.002
"""Meters left between cubes that stand side by side."""


@dataclass(frozen=True)
class Plan:
    """One episode before its first action."""

    episode: EpisodeSpec
    """The scene."""
    actions: NDArray[np.float32]
    """Random actions, (T, 3)."""
    switch: int
    """Step from which on the oracle acts; T or more means never."""


def draw_plan(collection: Collection, recipe: Recipe, rng: np.random.Generator) -> Plan:
    """Draw one episode and who acts in it."""
    episode = recipe.draw(rng)
    steps = collection.steps
    actions = rng.uniform(-1, 1, (steps, 3)).astype(np.float32)
    if collection.policy == "mixed" and rng.random() >= collection.random_share:
        return Plan(advanced(episode, rng), actions, int(rng.integers(0, steps + 1)))
    return Plan(episode, actions, 0 if collection.policy == "oracle" else steps)


def act(
    plans: list[Plan], step: int, observation: Observation, oracle: Policy
) -> NDArray[np.float32]:
    """Choose the actions of all copies, (B, 3); the oracle, who is slow, thinks where he acts."""
    actions = np.stack([plan.actions[step] for plan in plans])
    ruled = np.flatnonzero([plan.switch <= step for plan in plans])
    if len(ruled):
        actions[ruled] = oracle.act({key: rows[ruled] for key, rows in observation.items()})
    return actions


def advanced(episode: EpisodeSpec, rng: np.random.Generator) -> EpisodeSpec:
    """Start some objects at their goals, as if someone had worked on the task for a while.

    A random number of objects, in random order, goes where there is room for it.
    """
    start = episode.start.copy()
    here = np.flatnonzero(~np.isnan(start[:, 0]))
    order = rng.permutation(here)[: rng.integers(0, len(here) + 1)]
    for slot in order.tolist():
        moved = start.copy()
        moved[slot] = episode.goal[slot]
        if _fits(episode, moved, slot, here):
            start = moved
    return replace(episode, start=start)


def _fits(episode: EpisodeSpec, start: Planar, slot: int, here: NDArray[np.int64]) -> bool:
    grip = build(episode.scene).grip[:2]
    mine = episode.scene.objects[slot]
    if np.hypot(*(start[slot, :2] - grip)) < spacing(mine) + CUBE_SIDE / np.sqrt(2):
        return False
    return all(
        _apart(mine, episode.scene.objects[other], start[slot], start[other])
        for other in here.tolist()
        if other != slot
    )


def _apart(
    one: ObjectSpec, two: ObjectSpec, here: NDArray[np.float64], there: NDArray[np.float64]
) -> bool:
    gap = np.abs(here[:2] - there[:2])
    square = all(it.shape == "cube" and it.scale == (1.0, 1.0) for it in (one, two))
    if square and here[2] == there[2] == 0:
        return bool(gap.max() >= CUBE_SIDE + _GAP)
    return bool(np.hypot(*gap) >= spacing(one) + spacing(two))
