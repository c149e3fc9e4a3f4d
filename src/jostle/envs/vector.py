"""The vectorized environment: what `gymnasium.make_vec` returns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from jostle.core.checks import check_int
from jostle.core.errors import require
from jostle.core.profiler import PROFILER
from jostle.envs import validation
from jostle.envs.divergence import warn_diverged
from jostle.envs.goal_image import as_goal_image, goal_image_request
from jostle.envs.human_view import HumanView
from jostle.envs.image_renderer import ImageRenderer
from jostle.envs.observe import StateReader
from jostle.envs.options import largest_table, split_options
from jostle.pixels.render import RenderRequest
from jostle.rewards.distance import DistanceReward
from jostle.scene.build import compile_scene
from jostle.scene.physics import Physics, table_poses
from jostle.scene.spec import TABLE_TOP
from jostle.tasks.episode import EpisodeSpec

Observation = dict[str, NDArray[Any]]
Infos = dict[str, Any]


class TabletopVectorEnv(gym.vector.VectorEnv[Observation, NDArray[np.float32], NDArray[Any]]):
    """Several environments of one task, stepped by one call into C and rendered on all threads.

    Observations follow Gymnasium's goal convention: `observation` (gripper and objects),
    `achieved_goal` and `desired_goal` (goal coordinates, float32), and, unless `obs_type` is
    "state", an image and a goal image per camera.

    A pickled environment is restored with its full state and continues bit-for-bit; GL contexts are
    opened again when an image is needed.
    """

    metadata = {  # noqa: RUF012 - Gymnasium declares it as an instance attribute
        "render_modes": ["rgb_array", "human"],
        "render_fps": 3,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int = 1, task: str = "NCubes", **options: Any) -> None:
        """Build `num_envs` environments of a task; see `EnvOptions` for the options."""
        check_int("num_envs", num_envs, 1)
        # Task
        self.options, task_options = split_options(options)
        self.episode_sampler = sampler = self.options.episode_sampler(task, task_options)
        self.num_envs = num_envs
        self.render_mode = self.options.render_mode
        self.metadata = {**self.metadata, "autoreset_mode": self.options.mode}
        self.goal_metric = sampler.task.goal_metric(sampler.padded)
        objects, table = sampler.max_objects, largest_table(sampler)
        self.state_reader = StateReader(self.goal_metric, objects, table)
        self.reward = DistanceReward(self.goal_metric, self.state_reader.farthest)
        self.max_episode_steps: int | None = self.options.horizon(sampler)
        self._declare_spaces()

        # Simulation and rendering
        self._physics = Physics(sampler.scene, num_envs, self.options.threads)
        cameras = len(sampler.appearance.cameras)
        self._renderer = ImageRenderer(sampler.scene, cameras, self.options.threads)
        self._human_view = HumanView()
        self._rngs = [seeding.np_random()[0] for _ in range(num_envs)]

        # Running episodes
        self.episodes: list[EpisodeSpec] = []
        self.elapsed: NDArray[np.int64] = np.zeros(num_envs, np.int64)
        self.done: NDArray[np.bool_] = np.zeros(num_envs, bool)
        self._returns: NDArray[np.float64] = np.zeros(num_envs)
        self._present = np.zeros((num_envs, objects), bool)
        self._desired = np.zeros((num_envs, objects, self.goal_metric.width), np.float32)
        views = 0 if self.options.obs_type == "state" else cameras
        self._goal_images = np.zeros((num_envs, views, *self.options.size, 3), np.uint8)

    # Gymnasium's interface

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Infos]:
        """Start new episodes, in all environments or in those of `options["reset_mask"]`.

        `options["episode"]` starts stored episodes: one for all, or one per environment to reset.
        """
        mask, stored = validation.parse_reset_options(options, self.num_envs)
        env_ids = np.flatnonzero(mask)
        seeds = validation.spread_seeds(seed, self.num_envs)
        for env_id in env_ids.tolist():
            if seeds[env_id] is not None:
                self._rngs[env_id] = seeding.np_random(seeds[env_id])[0]
        if stored is None:
            self._start_episodes(env_ids, self._sample_episodes(env_ids))
        else:
            episodes = validation.parse_episodes(stored, len(env_ids), self.episode_sampler)
            self._start_episodes(env_ids, episodes)
        observation = self._observe()
        infos = self._infos(observation, mask)
        self._human_view.update(self, infos)
        return observation, infos

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Infos]:
        """Apply one action per environment, (B, 3) in [-1, 1]."""
        require(len(self.episodes) > 0, "Call reset() before the first step().")
        valid_actions = validation.validate_actions(actions, self.num_envs)

        # Autoreset and physics
        resetting = self.done & (self.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP)
        if resetting.any():
            env_ids = np.flatnonzero(resetting)
            self._start_episodes(env_ids, self._sample_episodes(env_ids))
        with PROFILER("physics"):
            failures = self._physics.step(valid_actions, ~resetting)

        # Observation and reward
        observation = self._observe()
        rewards = self.compute_reward(observation["achieved_goal"], observation["desired_goal"], {})
        rewards = np.where(resetting, np.float32(0), rewards)
        self.elapsed += ~resetting
        self._returns += rewards

        # Truncation
        diverged = np.zeros(self.num_envs, bool)
        diverged[list(failures)] = True
        timeout = ~resetting & (self.elapsed >= (self.max_episode_steps or np.inf))
        truncated = diverged | timeout
        self.done = truncated.copy()
        infos = self._infos(observation, np.ones(self.num_envs, bool))
        infos["diverged"] = diverged
        infos["_diverged"] = np.ones(self.num_envs, bool)
        if failures:
            warn_diverged(failures)
        self._human_view.update(self, infos)
        return observation, rewards, np.zeros(self.num_envs, bool), truncated, infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Render every environment: its views side by side, (S, V*S, 3) each."""
        if self.render_mode != "rgb_array":
            return None
        size = (self.options.render_size, self.options.render_size)
        images = self._renderer.render(self.render_requests(), size)  # (B, V, S, S, 3)
        return tuple(np.concatenate(list(views), axis=1) for views in images)

    def close(self, **kwargs: Any) -> None:
        """Free the GL contexts; a later image opens new ones, which may be closed again."""
        del kwargs
        self._renderer.close()
        self._human_view.close()
        self.closed = True

    # Goals

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Reward of goals with any leading shape; `info` is not needed."""
        del info
        return self.reward.total(achieved_goal, desired_goal)

    def set_fewer_fraction(self, fraction: float) -> None:
        """Sample fewer than the most objects in this fraction of episodes, from the next reset."""
        sampler = self.episode_sampler
        require(
            sampler.min_objects < sampler.max_objects,
            "The number of objects is fixed; give a range such as objects=(1, 3).",
        )
        require(0 <= fraction <= 1, f"A fraction lies in [0, 1], not {fraction}.")
        self.episode_sampler = replace(sampler, fewer_fraction=fraction)

    @property
    def physics(self) -> Physics:
        """The simulations."""
        return self._physics

    def num_fallen(self) -> NDArray[np.int64]:
        """Number of objects of each environment that are no longer on the table, (B,)."""
        height = self._physics.objects[:, : self.episode_sampler.max_objects, 2]
        return ((height < TABLE_TOP - 0.02) & self._present).sum(-1)

    def render_requests(self) -> list[RenderRequest]:
        """Current scene of every environment, to be rendered by any `RenderPool`."""
        scenes, qpos = self._physics.scenes, self._physics.qpos
        appearances = [episode.appearance for episode in self.episodes]
        return [RenderRequest(*parts) for parts in zip(scenes, qpos, appearances, strict=True)]

    def render_as_goal(self) -> Observation:
        """Render the current objects like goal images, with the arm retracted, by camera."""
        requests = list(map(as_goal_image, self.render_requests(), self._physics.objects))
        images = self._renderer.render(requests, self.options.size)  # (B, V, H, W, 3)
        cameras = self.episode_sampler.appearance.cameras
        return {camera.name: images[:, view] for view, camera in enumerate(cameras)}

    # Saving and restoring

    def rng(self, env_id: int) -> np.random.Generator:
        """Random generator of an environment."""
        return self._rngs[env_id]

    def get_state(self) -> dict[str, Any]:
        """Everything needed to resume bit-for-bit: numpy arrays and JSON texts."""
        return {
            "states": self._physics.states.copy(),
            "rngs": json.dumps([rng.bit_generator.state for rng in self._rngs]),
            "episodes": [episode.to_json() for episode in self.episodes],
            "elapsed": self.elapsed.copy(),
            "returns": self._returns.copy(),
            "done": self.done.copy(),
        }

    def set_state(self, state: Mapping[str, Any]) -> Observation:
        """Restore what `get_state` returned; returns the observation of that state."""
        validation.check_state(state, self.num_envs)
        episodes = [EpisodeSpec.from_json(text) for text in state["episodes"]]
        self._start_episodes(np.arange(self.num_envs), episodes)
        scenes = [compile_scene(episode.scene) for episode in episodes]
        self._physics.restore(state["states"], scenes)
        for rng, saved in zip(self._rngs, json.loads(state["rngs"]), strict=True):
            rng.bit_generator.state = saved
        self.elapsed, self.done = state["elapsed"].copy(), state["done"].copy()
        self._returns = state["returns"].copy()
        return self._observe()

    # Internals

    def _declare_spaces(self) -> None:
        cameras = [camera.name for camera in self.episode_sampler.appearance.cameras]
        self.single_observation_space = self.state_reader.observation_space(
            self.options.obs_type, cameras, self.options.size
        )
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _sample_episodes(self, env_ids: NDArray[np.int64]) -> list[EpisodeSpec]:
        return [self.episode_sampler.sample(self._rngs[env_id]) for env_id in env_ids]

    def _start_episodes(self, env_ids: NDArray[np.int64], episodes: Sequence[EpisodeSpec]) -> None:
        """Start one episode in each of the given environments."""
        # Goals
        if not self.episodes:
            require(len(env_ids) == self.num_envs, "The first reset must reset all environments.")
            self.episodes = list(episodes)
        for env_id, episode in zip(env_ids, episodes, strict=True):
            self.episodes[env_id] = episode
            objects = episode.scene.objects[: self.episode_sampler.max_objects]
            self._present[env_id] = [obj.present for obj in objects]
            self._desired[env_id] = self.state_reader.desired(episode.goal, self._present[env_id])

        # Physics
        scenes = [compile_scene(episode.scene) for episode in episodes]
        poses = [table_poses(episode.scene, episode.start) for episode in episodes]
        self._physics.reset(env_ids, scenes, np.stack(poses))
        self.elapsed[env_ids], self.done[env_ids], self._returns[env_ids] = 0, False, 0.0

        # Goal images
        if self._goal_images.shape[1]:
            requests = [goal_image_request(episode) for episode in episodes]
            self._goal_images[env_ids] = self._renderer.render(requests, self.options.size)

    def _observe(self) -> Observation:
        entities = self.state_reader.entities(self._physics, self._present)
        rows = 1 if self.options.obs_type == "pixels" else entities.shape[1]
        observation: Observation = {
            "observation": entities[:, :rows].copy(),
            "achieved_goal": self.state_reader.achieved(entities),
            "desired_goal": self._desired.copy(),
        }
        if self._goal_images.shape[1]:
            requests = self.render_requests()
            images = self._renderer.render(requests, self.options.size)  # (B, V, H, W, 3)
            for view, camera in enumerate(self.episode_sampler.appearance.cameras):
                observation[camera.name] = images[:, view]
                observation[f"goal_{camera.name}"] = self._goal_images[:, view].copy()
        return observation

    def _infos(self, observation: Observation, mask: NDArray[np.bool_]) -> Infos:
        achieved, desired = observation["achieved_goal"], observation["desired_goal"]
        infos: Infos = dict(self.goal_metric.metrics(achieved, desired))
        infos["average_return"] = self._returns / np.maximum(self.elapsed, 1)
        infos["is_success"] = infos["success"] > 0.5
        infos["distances"] = self.goal_metric.distances(achieved, desired)
        extra_slots = self.episode_sampler.extra_slots
        if extra_slots:
            positions = [episode.goal_view[-extra_slots:, :2] for episode in self.episodes]
            infos["distractor_goals"] = np.array(positions, np.float32)
        return infos | {f"_{name}": mask.copy() for name in infos}
