"""Episodes of a frame dataset: scenes and actions, determined by the number of the episode."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Policy
from jostle.envs.vector import Observation
from jostle.rollout.frame_dataset import FrameDatasetSpec
from jostle.scene.build import compile_scene
from jostle.scene.shapes import spacing
from jostle.scene.spec import CUBE_SIDE, ObjectSpec
from jostle.tasks.episode import EpisodeSpec, PlanarPoses
from jostle.tasks.episode_sampler import EpisodeSampler

_GAP = 0.002
"""Meters left between cubes that stand side by side."""


@dataclass(frozen=True)
class EpisodePlan:
    """One episode before its first action."""

    episode: EpisodeSpec
    """The scene."""
    actions: NDArray[np.float32]
    """Random actions, (T, 3)."""
    expert_from: int
    """Step from which on the oracle acts; T or more means never."""


def sample_plan(
    dataset: FrameDatasetSpec, sampler: EpisodeSampler, rng: np.random.Generator
) -> EpisodePlan:
    """Sample one episode, and which of its actions are random."""
    episode = sampler.sample(rng)
    steps = dataset.steps
    actions = rng.uniform(-1, 1, (steps, 3)).astype(np.float32)
    if dataset.policy == "mixed" and rng.random() >= dataset.random_share:
        return EpisodePlan(partially_solved(episode, rng), actions, int(rng.integers(0, steps + 1)))
    return EpisodePlan(episode, actions, 0 if dataset.policy == "oracle" else steps)


class PlanPolicy:
    """Acts by plans, one per environment."""

    def __init__(self, plans: list[EpisodePlan], oracle: Policy) -> None:
        """Follow `plans`; `oracle` takes over where they say so."""
        self._plans, self._oracle, self._step = plans, oracle, 0

    def reset(self) -> None:
        """Start with the first action of every plan."""
        self._step = 0

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose the next actions of all environments, (B, 3).

        The oracle is slow, so it is called only for the environments in which it acts.
        """
        actions = np.stack([plan.actions[self._step] for plan in self._plans])
        expert = np.flatnonzero([plan.expert_from <= self._step for plan in self._plans])
        if len(expert):
            rows = {key: values[expert] for key, values in observation.items()}
            actions[expert] = self._oracle.act(rows)
        self._step += 1
        return actions


def partially_solved(episode: EpisodeSpec, rng: np.random.Generator) -> EpisodeSpec:
    """Start some objects at their goals, as if the task were already partially solved.

    A random number of objects, in random order, are moved if there is room at their goals.
    """
    start = episode.start.copy()
    present = np.flatnonzero(~np.isnan(start[:, 0]))
    order = rng.permutation(present)[: rng.integers(0, len(present) + 1)]
    for index in order.tolist():
        moved = start.copy()
        moved[index] = episode.goal[index]
        if _fits(episode, moved, index, present):
            start = moved
    return replace(episode, start=start)


def _fits(episode: EpisodeSpec, start: PlanarPoses, index: int, present: NDArray[np.int64]) -> bool:
    """Whether an object overlaps neither the gripper nor the other objects."""
    gripper = compile_scene(episode.scene).grip[:2]
    spec = episode.scene.objects[index]
    if np.hypot(*(start[index, :2] - gripper)) < spacing(spec) + CUBE_SIDE / np.sqrt(2):
        return False
    return all(
        _separated(spec, episode.scene.objects[other], start[index], start[other])
        for other in present.tolist()
        if other != index
    )


def _separated(
    first: ObjectSpec,
    second: ObjectSpec,
    first_pose: NDArray[np.float64],
    second_pose: NDArray[np.float64],
) -> bool:
    """Whether two objects do not overlap; axis-aligned cubes may stand side by side."""
    gap = np.abs(first_pose[:2] - second_pose[:2])
    cubes = all(spec.shape == "cube" and spec.scale == (1.0, 1.0) for spec in (first, second))
    if cubes and first_pose[2] == second_pose[2] == 0:
        return bool(gap.max() >= CUBE_SIDE + _GAP)
    return bool(np.hypot(*gap) >= spacing(first) + spacing(second))
