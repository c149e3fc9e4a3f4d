"""Records episodes while an agent acts: true positions, and what its encoder made of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, POSITION, Entities, EntityLayout
from jostle.core.errors import require
from jostle.core.protocols import Observation, Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.evaluate import EpisodeResult
from jostle.evaluation.failures import Flags, Floats, Seen, Trajectory, cause_of
from jostle.rollout.policies import AgentPolicy
from jostle.scene.cameras import project
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP
from jostle.tasks.episode import EpisodeSpec

_NEAR = 0.045
"""Largest distance of an entity to the object it shows, as a fraction of the image's side: a little
more than half a cube."""


class TracingPolicy:
    """Wraps a policy, and keeps the trajectories of all episodes in the order they are played."""

    def __init__(self, policy: Policy, env: TabletopVectorEnv) -> None:
        """Trace the episodes of `env`."""
        require(
            env.goal_metric.goal_type == "position",
            f"Causes of failures are known for positions; {env.episode_sampler.task.name} has yaw "
            "goals.",
        )
        self._policy, self._env = policy, env
        self._reader: EntityReader | None = None
        self._goals: Floats = np.zeros((env.num_envs, 0, 2))
        self._steps: list[tuple[Floats, tuple[Flags, Flags] | None]] = []
        self._batches: list[dict[str, Any]] = []

    def reset(self) -> None:
        """Start new episodes in all environments."""
        self._keep()
        if hasattr(self._policy, "reset"):
            self._policy.reset()

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A), and record what they follow from."""
        actions = self._policy.act(observation)
        if not self._steps:
            self._goals = observation["desired_goal"][..., :2].astype(np.float64)
            self._reader = _reader(self._policy, self._env)
        objects = observation["observation"][..., :3].astype(np.float64)  # (B, 1 + N, 3)
        seen = None
        if self._reader is not None and isinstance(self._policy, AgentPolicy):
            assert self._policy.seen is not None
            seen = self._reader.read(*self._policy.seen, objects[:, 1:], self._goals)
        self._steps.append((objects, seen))
        return actions

    def causes(self, results: tuple[EpisodeResult, ...]) -> list[str]:
        """Cause of each episode, empty for successes; `results` are those of the evaluation."""
        self._keep()
        trajectories = [
            (batch, index) for batch in self._batches for index in range(len(batch["goals"]))
        ]
        return [
            cause_of(self._trajectory(batch, index, result))
            for (batch, index), result in zip(trajectories, results, strict=False)
        ]

    def _keep(self) -> None:
        """Store the episodes that were just played."""
        if not self._steps:
            return
        states = np.stack([state for state, _ in self._steps], axis=1)  # (B, T, 1 + N, 3)
        seen = None
        if self._reader is not None:
            read = [flags for _, flags in self._steps if flags is not None]
            detected, confused = (np.stack(part, axis=1) for part in zip(*read, strict=True))
            seen = (detected, confused, self._reader.goal_confused)
        self._batches.append({"states": states, "goals": self._goals, "seen": seen})
        self._steps = []

    def _trajectory(self, batch: dict[str, Any], index: int, result: EpisodeResult) -> Trajectory:
        count, radius = len(result.distances), self._env.goal_metric.radius
        states = batch["states"][index]  # (T, 1 + N, 3)
        objects = states[:, 1 : 1 + count]
        seen = None
        if batch["seen"] is not None:
            detected, confused, goal_confused = (part[index] for part in batch["seen"])
            seen = Seen(detected[:, :count], confused[:, :count], goal_confused[:count])
        return Trajectory(
            objects=objects,
            goals=batch["goals"][index][:count],
            at_goal=np.array(result.distances) < radius,
            fallen=objects[-1, :, 2] < -0.02 if result.fallen else np.zeros(count, bool),
            radius=radius,
            seen=seen,
        )


class EntityReader:
    """Finds the entities that lie at objects, and compares how they look."""

    def __init__(
        self,
        episodes: Sequence[EpisodeSpec],
        cameras: Sequence[str],
        layout: EntityLayout,
        side: int,
    ) -> None:
        """Read entities of `cameras`, in images of `side` x `side` pixels.

        Objects look as they do in the first step.
        """
        self._views, self._side, self._features = tuple(cameras), side, layout[FEATURES]
        self._cameras = [
            {camera.name: camera for camera in episode.appearance.cameras} for episode in episodes
        ]
        self._looks: NDArray[Any] | None = None  # (B, V, N, F)
        self.goal_confused: Flags = np.zeros((len(episodes), 0), bool)
        """Objects whose goals look like another object, (B, N)."""

    def read(
        self, state: Entities, goal: Entities, objects: Floats, goals: Floats
    ) -> tuple[Flags, Flags]:
        """Which objects (B, N, 3) are detected, and which are confused, (B, N) each.

        Heights of objects are above the table; `goals` are (B, N, 2).
        """
        entity, found = self._entities_at(state, objects + np.array((0, 0, TABLE_TOP)))
        looks = self._features_of(state, entity)  # (B, V, N, F)
        if self._looks is None:
            self._looks = np.where(found[..., None], looks, np.nan)
            self.goal_confused = self._compare_goals(goal, goals)
        same = (entity[..., :, None] == entity[..., None, :]) & found[..., None, :]
        shared = (same & ~np.eye(entity.shape[-1], dtype=bool)).any(-1)
        return _in_any_view(found), _in_all_views((shared | self._unlike(looks)) & found, found)

    def _compare_goals(self, goal: Entities, goals: Floats) -> Flags:
        """Which goals look like another object in all views that show them, (B, N)."""
        height = np.full((*goals.shape[:2], 1), TABLE_TOP + CUBE_SIDE / 2)
        entity, found = self._entities_at(goal, np.concatenate((goals, height), axis=-1))
        return _in_all_views(self._unlike(self._features_of(goal, entity)) & found, found)

    def _features_of(self, entities: Entities, index: NDArray[np.int64]) -> NDArray[Any]:
        return np.take_along_axis(entities.values[..., self._features], index[..., None], 2)

    def _unlike(self, looks: NDArray[Any]) -> Flags:
        """Which entities (B, V, N, F) look more like another object than like their own."""
        assert self._looks is not None
        gap = np.linalg.norm(looks[..., :, None, :] - self._looks[..., None, :, :], axis=-1)
        gap = np.where(np.isnan(gap), np.inf, gap)  # (B, V, N, N)
        own = np.diagonal(gap, axis1=-2, axis2=-1)
        return (gap.min(-1) < own) & np.isfinite(own)

    def _entities_at(self, entities: Entities, points: Floats) -> tuple[NDArray[np.int64], Flags]:
        """Nearest visible entity of each point (B, N, 3) in each view, and whether it is near."""
        from jostle.core.particles import pixel_positions  # needs torch, other agents do not

        pixels = pixel_positions(entities.values, self._side)  # (B, V, K, 2)
        size = (self._side, self._side)
        gap = np.full((*pixels.shape[:3], points.shape[1]), np.inf)  # (B, V, K, N)
        for env, cameras in enumerate(self._cameras):
            for view, name in enumerate(self._views):
                if name in cameras:
                    centers = project(cameras[name], points[env], size)  # (N, 2)
                    gap[env, view] = np.linalg.norm(pixels[env, view, :, None] - centers, axis=-1)
        gap = np.where(entities.visible[..., None], gap, np.inf)
        return gap.argmin(2), gap.min(2) < _NEAR * self._side


def _in_all_views(flags: Flags, found: Flags) -> Flags:
    """Flags (B, V, N) that hold in every view that shows the object, if any does, (B, N)."""
    return (flags == found).all(1) & _in_any_view(found)


def _in_any_view(found: Flags) -> Flags:
    """Flags (B, V, N) that hold in at least one view, (B, N)."""
    shown: Flags = np.any(found, axis=1)
    return shown


def _reader(policy: Policy, env: TabletopVectorEnv) -> EntityReader | None:
    """A reader for agents whose entities have positions and features in images."""
    if not isinstance(policy, AgentPolicy) or policy.encoder is None:
        return None
    layout = policy.encoder.layout
    if POSITION not in layout or FEATURES not in layout or FEATURES not in policy.layout:
        return None
    return EntityReader(env.episodes, policy.cameras, layout, policy.encoder.config.image_size)
