"""Recording of episodes: played in batches, written shard by shard."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from jostle.core.checks import check_int, check_number
from jostle.core.errors import FramesError, require
from jostle.core.goal_metric import METRICS
from jostle.core.seeding import SeedTree
from jostle.envs.vector import TabletopVectorEnv
from jostle.frames.array_files import ShardFiles
from jostle.frames.manifest import plain
from jostle.recordings.manifest import EPISODE, RecordingManifest, StreamSpec
from jostle.recordings.writer import RecordingFolder
from jostle.rollout.policy_mix import ACTIONS, Actor, PolicyMix
from jostle.rollout.rollout import Step, rollout
from jostle.runs.run_dir import provenance

Progress = Callable[[int], None]
"""Called with the number of episodes recorded since the last call."""
FIRST_SEED = 10_000_000
"""Seed of the first episode by default: evaluations never meet it."""
_SPARE_BYTES = 50_000_000
"""Disk space that a recording leaves free."""
Buffers = dict[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class RecordedAgent:
    """Who acts in a share of the episodes."""

    name: str
    """Name of the agent."""
    share: float = 1.0
    """Its share of the episodes."""
    noise: float = 0.0
    """Standard deviation of the noise on its actions."""
    weights: str = ""
    """Hash of its weights; empty for scripted policies."""


@dataclass(frozen=True, kw_only=True)
class RecordingSpec:
    """What is recorded; the same values always give the same bytes on the same machine."""

    task: str
    """Task of the catalog."""
    env_kwargs: Mapping[str, Any]
    """Options of the environments."""
    agents: tuple[RecordedAgent, ...]
    """Who acts."""
    frames: bool = False
    """Whether images and goal images are stored; `env_kwargs` must ask for them."""
    steps: int | None = None
    """Actions of an episode; the task's horizon by default."""
    epsilon: float = 0.0
    """Probability of a random action instead of the agent's."""
    seed: int = FIRST_SEED
    """Seed of the first episode; the next ones have seed + 1, seed + 2, ..."""
    num_envs: int = 32
    """Episodes that are played at once. Other numbers may round an agent's actions otherwise."""

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        require(len(self.agents) > 0, "Name at least one agent to record, such as oracle.")
        for agent in self.agents:
            check_number(f"The share of {agent.name}", agent.share, above=0)
            check_number(f"The noise of {agent.name}", agent.noise, low=0)
        require(0 <= self.epsilon <= 1, f"epsilon lies in [0, 1], not {self.epsilon}.")
        check_int("seed", self.seed, 0)
        check_int("num_envs", self.num_envs, 1)
        if self.steps is not None:
            check_int("steps", self.steps, 1)

    def make_env(self, threads: int = 0) -> TabletopVectorEnv:
        """Make the environments."""
        return TabletopVectorEnv(
            self.num_envs, self.task, autoreset_mode="Disabled", threads=threads, **self.env_kwargs
        )

    def manifest(self, env: TabletopVectorEnv) -> RecordingManifest:
        """The manifest of this recording before its first shard."""
        sampler, reader = env.episode_sampler, env.state_reader
        steps = self.steps or sampler.task.horizon(sampler.max_objects)
        cameras = [camera.name for camera in sampler.appearance.cameras] if self.frames else []
        identity = {
            "task": sampler.task.name, "env_kwargs": self.env_kwargs, "steps": steps,
            "agents": [asdict(agent) for agent in self.agents], "epsilon": self.epsilon,
            "seed": self.seed, "num_envs": self.num_envs, "cameras": cameras,
        }  # fmt: skip
        spaces = {
            "observation": _describe_space(env.single_observation_space),
            "action": _describe_space(env.single_action_space),
        }
        goal_columns = list(reader.goal_columns)
        return RecordingManifest(
            identity=plain(identity),
            spaces=spaces,
            columns={"observation": list(reader.columns), "goal": goal_columns},
            goal_metric=asdict(env.goal_metric),
            streams=_streams(env, steps, len(cameras)),
            made_by=plain(provenance()),
        )


def _streams(env: TabletopVectorEnv, steps: int, views: int) -> dict[str, StreamSpec]:
    """What is stored of an episode."""
    space = env.single_observation_space
    assert isinstance(space, gym.spaces.Dict)
    state, goal = (space[name].shape or () for name in ("observation", "desired_goal"))
    streams = {
        "observation": StreamSpec(dtype="<f4", shape=(steps + 1, *state)),
        "achieved_goal": StreamSpec(dtype="<f4", shape=(steps + 1, *goal)),
        "desired_goal": StreamSpec(dtype="<f4", shape=goal),
        "action": StreamSpec(dtype="<f4", shape=(steps, ACTIONS)),
        "reward": StreamSpec(dtype="<f4", shape=(steps,)),
        "success": StreamSpec(dtype="|b1", shape=(steps + 1,)),
    }
    if views:
        image = (views, *env.options.size, 3)
        streams["frames"] = StreamSpec(dtype="|u1", shape=(steps + 1, *image))
        streams["goal_frames"] = StreamSpec(dtype="|u1", shape=image)
    return streams


def _describe_space(space: gym.Space[Any]) -> dict[str, Any]:
    """A space as JSON; limits that are the same everywhere as one number."""
    if isinstance(space, gym.spaces.Dict):
        return {name: _describe_space(part) for name, part in space.items()}
    assert isinstance(space, gym.spaces.Box)
    limits = {
        name: values.flat[0].item() if (values == values.flat[0]).all() else values.tolist()
        for name, values in (("low", space.low), ("high", space.high))
    }
    return {"dtype": str(space.dtype), "shape": list(space.shape), **limits}


class EpisodeRecorder:
    """Environments and policies that record any episode of a recording."""

    def __init__(
        self, spec: RecordingSpec, env: TabletopVectorEnv, policies: Sequence[Any]
    ) -> None:
        """Let `policies`, one per agent of `spec` and None for random actions, act in `env`."""
        self.env, self.manifest, self._spec = env, spec.manifest(env), spec
        actors = [
            Actor(policy, agent.share, agent.noise)
            for policy, agent in zip(policies, spec.agents, strict=True)
        ]
        noise_seed = SeedTree(spec.seed).integer("recording")
        self._mix = PolicyMix(actors, spec.epsilon, noise_seed)
        self._steps = int(self.manifest.identity["steps"])

    def write(
        self, files: ShardFiles, first: int, count: int, report: Progress | None = None
    ) -> None:
        """Write the episodes `first` to `first + count - 1`.

        Batches start at multiples of the number of environments, so that it does not matter at
        which episode a recording was interrupted.
        """
        size = self.env.num_envs
        for start in range(first // size * size, first + count, size):
            buffers = self._play(start)
            rows = slice(max(first - start, 0), min(first + count - start, size))
            for stream, values in buffers.items():
                files.append(stream, values[rows])
            if report is not None:
                report(len(buffers["episodes"][rows]))

    def _play(self, first: int) -> Buffers:
        """Play episode `first + i` in environment i; everything that is stored, (B, ...)."""
        num_envs, seed = self.env.num_envs, self._spec.seed + first
        buffers: Buffers = {
            name: np.zeros((num_envs, *spec.shape), spec.dtype)
            for name, spec in self.manifest.streams.items()
        }
        table = buffers["episodes"] = np.zeros(num_envs, EPISODE)
        elapsed = -1

        def store(step: Step) -> None:
            nonlocal elapsed
            elapsed += 1
            for name in ("observation", "achieved_goal"):
                buffers[name][:, elapsed] = step.observation[name]
            buffers["success"][:, elapsed] = step.infos["is_success"]
            for view, camera in enumerate(self.manifest.identity["cameras"]):
                buffers["frames"][:, elapsed, view] = step.observation[camera]
            if elapsed > 0:
                buffers["action"][:, elapsed - 1] = self._mix.action
                buffers["reward"][:, elapsed - 1] = step.rewards
                table["diverged"] |= step.infos["diverged"]

        self._mix.start(first, num_envs)
        last = rollout(self.env, self._mix, self._steps, seed=seed, on_step=store)
        buffers["desired_goal"][:] = last.observation["desired_goal"]
        for view, camera in enumerate(self.manifest.identity["cameras"]):
            buffers["goal_frames"][:, view] = last.observation[f"goal_{camera}"]
        table["number"], table["seed"] = first + np.arange(num_envs), seed + np.arange(num_envs)
        table["agent"] = self._mix.assigned
        for metric in METRICS:
            table[metric] = last.infos[metric]
        return buffers


def record_episodes(
    recorder: EpisodeRecorder,
    episodes: int,
    folder: Path,
    shard: int = 256,
    start_progress: Callable[[int, int], Progress] | None = None,
) -> int:
    """Record until a folder holds `episodes` episodes; an interrupted recording is resumed.

    Args:
        recorder: Plays the episodes.
        episodes: Number of episodes, counting those that the folder already holds.
        folder: Where to store them.
        shard: Episodes per shard, rounded up to whole batches; an interruption loses at most one
            shard.
        start_progress: Called with the number of episodes in total and of those already there;
            returns the function that reports progress.

    Returns:
        The number of episodes in the folder.
    """
    check_int("episodes", episodes, 1)
    check_int("shard", shard, 1)
    size = recorder.env.num_envs
    shard = -(-shard // size) * size
    with RecordingFolder(folder, recorder.manifest) as out:
        done = out.manifest.episodes
        check_space(folder, max(episodes - done, 0) * recorder.manifest.episode_bytes)
        report = None if start_progress is None else start_progress(episodes, done)
        while done < episodes:
            count = min(episodes - done, shard - done % shard)
            with out.open_shard(count) as files:
                recorder.write(files, done, count, report)
            done += count
    return done


def check_space(folder: Path, needed: int) -> None:
    """Refuse a recording that the disk has no room for."""
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free - _SPARE_BYTES
    if needed > free:
        raise FramesError(
            f"The disk of {folder} has room for {max(free, 0) / 1e9:.1f} GB, but the recording "
            f"needs {needed / 1e9:.1f} GB. Record fewer episodes or smaller images, or choose "
            "another --out."
        )
