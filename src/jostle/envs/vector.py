"""All copies of a task in one batch: what `gymnasium.make_vec` returns."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from jostle.core.clock import CLOCK
from jostle.core.errors import DivergedWarning, require
from jostle.envs.goal_photo import as_goal, goal_shot
from jostle.envs.observe import StateReader
from jostle.envs.options import largest_table, split
from jostle.envs.reading import read_actions, read_episodes, read_reset_options, read_seeds
from jostle.pixels.render import Shot, Studio
from jostle.scene.build import build
from jostle.scene.physics import Physics, table_poses
from jostle.scene.spec import TABLE_TOP
from jostle.tasks.episode import EpisodeSpec

Observation = dict[str, NDArray[Any]]
Infos = dict[str, Any]


class TabletopVectorEnv(gym.vector.VectorEnv[Observation, NDArray[np.float32], NDArray[Any]]):
    """Copies of one task, stepped by one call into C and drawn by one painter per thread.

    Observations follow the goal contract: `observation` (gripper and objects), `achieved_goal`
    and `desired_goal` (task coordinates, float32), and a frame per camera when asked for.
    """

    metadata = {  # noqa: RUF012 - Gymnasium declares it as an instance attribute
        "render_modes": ["rgb_array"],
        "render_fps": 3,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int = 1, task: str = "NCubes", **options: Any) -> None:
        """Build `num_envs` copies of a task; see `EnvOptions` for the options."""
        require(num_envs >= 1, f"num_envs must be at least 1, not {num_envs}.")
        self.options, own = split(options)
        self.recipe = self.options.recipe(task, own)
        self.num_envs = num_envs
        self.render_mode = self.options.render_mode
        self.metadata = {**self.metadata, "autoreset_mode": self.options.mode}
        self.measure = self.recipe.task.measure(self.recipe.padded)
        self.reader = StateReader(self.measure, self.recipe.most, largest_table(self.recipe))
        self.limit: int | None = self._horizon()
        self._declare_spaces()
        self._physics = Physics(self.recipe.scene, num_envs, self.options.threads)
        self._studios: dict[tuple[int, int], Studio] = {}
        self._rngs = [seeding.np_random()[0] for _ in range(num_envs)]
        self.episodes: list[EpisodeSpec] = []
        objects = self.recipe.most
        self.elapsed: NDArray[np.int64] = np.zeros(num_envs, np.int64)
        self.ended: NDArray[np.bool_] = np.zeros(num_envs, bool)
        self._returns: NDArray[np.float64] = np.zeros(num_envs)
        self._present = np.zeros((num_envs, objects), bool)
        self._desired = np.zeros((num_envs, objects, self.measure.width), np.float32)
        views = len(self.recipe.look.cameras) if self.options.obs_type != "state" else 0
        self._goals = np.zeros((num_envs, views, *self.options.size, 3), np.uint8)

    # Gymnasium's verbs

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Infos]:
        """Start new episodes, in all copies or in those of `options["reset_mask"]`.

        `options["episode"]` starts stored episodes: one for all, or one per copy that resets.
        """
        mask, stored = read_reset_options(options, self.num_envs)
        copies = np.flatnonzero(mask)
        seeds = read_seeds(seed, self.num_envs)
        for copy in copies.tolist():
            if seeds[copy] is not None:
                self._rngs[copy] = seeding.np_random(seeds[copy])[0]
        if stored is None:
            self._begin(copies, [self.recipe.draw(self._rngs[copy]) for copy in copies])
        else:
            self._begin(copies, read_episodes(stored, len(copies), self.recipe))
        observation = self._observe()
        return observation, self._infos(observation, mask)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Infos]:
        """Carry out one action per copy, (B, 3) in [-1, 1]."""
        require(len(self.episodes) > 0, "Call reset() before the first step().")
        wanted = read_actions(actions, self.num_envs)
        again = self.ended & (self.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP)
        if again.any():
            copies = np.flatnonzero(again)
            self._begin(copies, [self.recipe.draw(self._rngs[copy]) for copy in copies])
        with CLOCK("physics"):
            failures = self._physics.act(wanted, ~again)
        observation = self._observe()
        rewards = self.compute_reward(observation["achieved_goal"], observation["desired_goal"], {})
        rewards = np.where(again, np.float32(0), rewards)
        self.elapsed += ~again
        self._returns += rewards
        diverged = np.zeros(self.num_envs, bool)
        diverged[list(failures)] = True
        truncated = diverged | (~again & (self.elapsed >= (self.limit or np.inf)))
        self.ended = truncated.copy()
        infos = self._infos(observation, np.ones(self.num_envs, bool))
        infos["diverged"] = diverged
        infos["_diverged"] = np.ones(self.num_envs, bool)
        if failures:
            self._report(failures)
        return observation, rewards, np.zeros(self.num_envs, bool), truncated, infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Draw every copy: its views side by side, (S, V*S, 3) each."""
        if self.render_mode is None:
            return None
        views = self._draw(self.shots(), self.options.render_size)  # (B, V, S, S, 3)
        return tuple(np.concatenate(list(one), axis=1) for one in views)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the painters."""
        del kwargs
        for studio in self._studios.values():
            studio.close()
        self._studios = {}

    # The goal contract

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Reward of any arrangement, over any leading shape; `info` is not needed."""
        del info
        return self.measure.reward(achieved_goal, desired_goal)

    def limit_objects(self, most: int) -> None:
        """Draw at most so many objects from the next reset on; the layout stays."""
        recipe = self.recipe
        require(
            recipe.padded and recipe.fewest <= most <= recipe.most,
            f"Between {recipe.fewest} and {recipe.most} objects can be drawn here, not {most}"
            + ("." if recipe.padded else ": give a range of objects to have a choice."),
        )
        self.recipe = replace(recipe, limit=most)

    def fallen(self) -> NDArray[np.int64]:
        """Count the objects of each copy that are no longer on the table, (B,)."""
        height = self._physics.objects[:, : self.recipe.most, 2]
        return ((height < TABLE_TOP - 0.02) & self._present).sum(-1)

    def shots(self) -> list[Shot]:
        """This moment of every copy, ready for a painter."""
        rows = self._physics.qpos
        return [
            Shot(world, qpos, episode.look)
            for world, qpos, episode in zip(self._physics.worlds, rows, self.episodes, strict=True)
        ]

    def photograph(self) -> Observation:
        """Show this moment as a goal's pictures would: everything in place, the arm retracted."""
        shots = map(as_goal, self.shots(), self._physics.objects)
        frames = self._draw(list(shots), self.options.size)  # (B, V, H, W, 3)
        return {
            camera.name: frames[:, view] for view, camera in enumerate(self.recipe.look.cameras)
        }

    # Saving and going on

    def rng(self, copy: int) -> np.random.Generator:
        """The source of a copy's randomness."""
        return self._rngs[copy]

    def get_state(self) -> dict[str, Any]:
        """Everything needed to go on bit by bit: numpy arrays and JSON texts."""
        return {
            "rows": self._physics.rows.copy(),
            "rngs": json.dumps([rng.bit_generator.state for rng in self._rngs]),
            "episodes": [episode.to_json() for episode in self.episodes],
            "elapsed": self.elapsed.copy(),
            "returns": self._returns.copy(),
            "ended": self.ended.copy(),
        }

    def set_state(self, state: Mapping[str, Any]) -> Observation:
        """Go back to what `get_state` returned; returns the observation of that moment."""
        episodes = [EpisodeSpec.from_json(text) for text in state["episodes"]]
        require(
            len(episodes) == self.num_envs,
            f"This state is of {len(episodes)} copies; here are {self.num_envs}.",
        )
        self._begin(np.arange(self.num_envs), episodes)
        self._physics.restore(state["rows"], [build(episode.scene) for episode in episodes])
        for rng, saved in zip(self._rngs, json.loads(state["rngs"]), strict=True):
            rng.bit_generator.state = saved
        self.elapsed, self.ended = state["elapsed"].copy(), state["ended"].copy()
        self._returns = state["returns"].copy()
        return self._observe()

    # Inside

    def _horizon(self) -> int:
        task, asked = self.recipe.task, self.options.max_episode_steps
        # make_vec fills in the id's registered horizon, which is that of its usual object count.
        usual = task.horizon(task.objects)
        if asked is None or (asked == usual and self.recipe.most != task.objects):
            return task.horizon(self.recipe.most)
        return asked

    def _declare_spaces(self) -> None:
        pixels = self.options.obs_type != "state"
        rows = 1 if self.options.obs_type == "pixels" else 1 + self.recipe.most
        found: dict[str, gym.Space[Any]] = dict(self.reader.spaces(rows))
        if pixels:
            for camera in self.recipe.look.cameras:
                for name in (camera.name, f"goal_{camera.name}"):
                    found[name] = gym.spaces.Box(0, 255, (*self.options.size, 3), np.uint8)
        self.single_observation_space = gym.spaces.Dict(found)
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _begin(self, copies: NDArray[np.int64], episodes: Sequence[EpisodeSpec]) -> None:
        """Put episodes into copies."""
        if not self.episodes:
            require(len(copies) == self.num_envs, "The first reset must reset every copy.")
            self.episodes = list(episodes)
        for copy, episode in zip(copies, episodes, strict=True):
            self.episodes[copy] = episode
            here = [one.present for one in episode.scene.objects[: self.recipe.most]]
            self._present[copy] = here
            self._desired[copy] = self.reader.desired(episode.goal, self._present[copy])
        worlds = [build(episode.scene) for episode in episodes]
        poses = [table_poses(episode.scene, episode.start) for episode in episodes]
        self._physics.load(copies, worlds, np.stack(poses))
        self.elapsed[copies], self.ended[copies], self._returns[copies] = 0, False, 0.0
        if self._goals.shape[1]:
            shots = [goal_shot(episode) for episode in episodes]
            self._goals[copies] = self._draw(shots, self.options.size)

    def _observe(self) -> Observation:
        entities = self.reader.entities(self._physics, self._present)
        rows = 1 if self.options.obs_type == "pixels" else entities.shape[1]
        found: Observation = {
            "observation": entities[:, :rows].copy(),
            "achieved_goal": self.reader.achieved(entities),
            "desired_goal": self._desired.copy(),
        }
        if self._goals.shape[1]:
            frames = self._draw(self.shots(), self.options.size)  # (B, V, H, W, 3)
            for view, camera in enumerate(self.recipe.look.cameras):
                found[camera.name] = frames[:, view]
                found[f"goal_{camera.name}"] = self._goals[:, view].copy()
        return found

    def _infos(self, observation: Observation, mask: NDArray[np.bool_]) -> Infos:
        achieved, wanted = observation["achieved_goal"], observation["desired_goal"]
        infos: Infos = dict(self.measure.metrics(achieved, wanted))
        infos["average_return"] = self._returns / np.maximum(self.elapsed, 1)
        infos["is_success"] = infos["success"] > 0.5
        infos["distances"] = self.measure.distances(achieved, wanted)
        spare = len(self.recipe.scene.objects) - self.recipe.most
        if spare:
            photos = [one.photo[-spare:, :2] for one in self.episodes]
            infos["distractor_goals"] = np.array(photos, np.float32)
        return infos | {f"_{name}": mask.copy() for name in infos}

    def _draw(self, shots: list[Shot], size: int | tuple[int, int]) -> NDArray[np.uint8]:
        size = (size, size) if isinstance(size, int) else size
        if size not in self._studios:
            views = len(self.recipe.look.cameras)
            world = build(self.recipe.scene)
            self._studios[size] = Studio(world, views, size, self.options.threads)
        with CLOCK("drawing"):
            return self._studios[size].draw(shots)

    def _report(self, failures: dict[int, str]) -> None:
        texts = "; ".join(f"copy {copy}: {reason}" for copy, reason in failures.items())
        warnings.warn(
            f"Physics diverged and the episode was cut short ({texts}). "
            "The other copies are not affected.",
            DivergedWarning,
            stacklevel=3,
        )
