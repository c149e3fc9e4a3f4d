"""Evaluation of one agent on one task: the paper's five metrics, with confidence intervals."""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.goal_metric import METRICS
from jostle.core.protocols import Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.statistics import wilson_interval
from jostle.rollout.rollout import Step, rollout
from jostle.tasks.episode import EpisodeSpec

ANGLE_BINS = 18
"""Bins of the histogram of yaw errors: ten degrees each."""


@dataclass(frozen=True)
class EpisodeResult:
    """Metrics at the final step of one episode."""

    number: int
    """Index of the episode within the evaluation."""
    digest: str
    """Content hash of the episode's initial state and goal."""
    success: float
    success_fraction: float
    average_distance: float
    maximum_distance: float
    average_return: float
    fallen: int
    """Objects that left the table."""
    distances: tuple[float, ...]
    """Distance of each object to its goal, in meters or radians."""
    cause: str = ""
    """Why it failed; empty if it did not, or if causes were not asked for."""


@dataclass(frozen=True)
class Evaluation:
    """All episodes of one agent on one task."""

    task: str
    agent: str
    objects: int
    steps: int
    seed: int
    episodes: tuple[EpisodeResult, ...]
    kind: Literal["position", "yaw"] = "position"
    """What `distances` measure."""
    mujoco: str = mujoco.__version__
    """Version of the simulator: results of different versions may differ."""
    vary: str = ""
    """How the episodes were varied, as text; empty for those of the task itself."""

    @property
    def digest(self) -> str:
        """Content hash of the set of episodes: equal for all agents evaluated on the same ones."""
        return episode_set(episode.digest for episode in self.episodes)

    def mean(self, metric: str) -> float:
        """Mean of a metric over the episodes."""
        return float(np.mean([getattr(episode, metric) for episode in self.episodes]))

    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the success rate."""
        successes = sum(episode.success for episode in self.episodes)
        return wilson_interval(successes, len(self.episodes))

    def summary(self) -> dict[str, Any]:
        """One row of a results table."""
        low, high = self.interval()
        means = {metric: self.mean(metric) for metric in METRICS}
        fallen = float(np.mean([episode.fallen > 0 for episode in self.episodes]))
        distances = np.concatenate([episode.distances for episode in self.episodes])
        histogram = (
            {"yaw_error_histogram": yaw_error_histogram(distances)} if self.kind == "yaw" else {}
        )
        return {
            **({"vary": self.vary} if self.vary else {}),
            "task": self.task,
            "agent": self.agent,
            "objects": self.objects,
            "steps": self.steps,
            "seed": self.seed,
            "episodes": len(self.episodes),
            "episode_set": self.digest,
            "mujoco": self.mujoco,
            **means,
            "success_low": low,
            "success_high": high,
            "fallen": fallen,
            "median_distance": float(np.median(distances)),
            **histogram,
        }

    def rows(self) -> list[dict[str, Any]]:
        """One row per episode, ready for JSON."""
        return [
            {name: value for name, value in asdict(episode).items() if name != "cause" or value}
            | {"mujoco": self.mujoco}
            for episode in self.episodes
        ]

    def with_causes(self, causes: Sequence[str]) -> "Evaluation":
        """Add the cause of each episode."""
        episodes = zip(self.episodes, causes, strict=True)
        return replace(
            self, episodes=tuple(replace(episode, cause=cause) for episode, cause in episodes)
        )


def episode_set(digests: Iterable[str]) -> str:
    """Content hash of a set of episodes from the hashes of its episodes."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:12]


def evaluate(
    env: TabletopVectorEnv,
    policy: Policy,
    agent: str,
    episodes: int,
    seed: int = 0,
    on_step: Callable[[Step], None] | None = None,
    stored: Sequence[EpisodeSpec] = (),
) -> Evaluation:
    """Run episodes with seeds `seed`, `seed + 1`, ..., each of the paper's evaluation length.

    With `stored` episodes, run the first `episodes` of these instead. `on_step` is called with
    every step of the environments.
    """
    require(episodes >= 1, f"At least one episode is needed, not {episodes}.")
    task = env.episode_sampler.task
    steps = task.evaluation_steps(env.episode_sampler.max_objects)
    results: list[EpisodeResult] = []

    while len(results) < episodes:
        batch = [stored[(len(results) + i) % len(stored)] for i in range(env.num_envs) if stored]
        first_seed = None if stored else seed + len(results)
        last = rollout(env, policy, steps, batch or None, first_seed, on_step=on_step)
        results += _episode_results(env, last, first=len(results))
    kept = tuple(results[:episodes])  # the last batch may be larger than needed
    return Evaluation(
        task.name,
        agent,
        env.episode_sampler.max_objects,
        steps,
        seed,
        kept,
        env.goal_metric.goal_type,
    )


def yaw_error_histogram(errors: NDArray[np.float64]) -> list[int]:
    """Number of errors in each of `ANGLE_BINS` equal bins from 0 to pi."""
    counts, _ = np.histogram(errors, bins=ANGLE_BINS, range=(0.0, math.pi))
    return [int(count) for count in counts]


def _episode_results(env: TabletopVectorEnv, last: Step, first: int) -> list[EpisodeResult]:
    fallen = env.num_fallen()  # (B,)
    distances = last.infos["distances"]  # (B, N)
    present = [
        [obj.present for obj in episode.scene.objects[: env.episode_sampler.max_objects]]
        for episode in env.episodes
    ]
    return [
        EpisodeResult(
            number=first + index,
            digest=env.episodes[index].digest,
            fallen=int(fallen[index]),
            distances=tuple(distances[index][present[index]].tolist()),
            **_metrics(last, index),
        )
        for index in range(env.num_envs)
    ]


def _metrics(last: Step, index: int) -> dict[str, Any]:
    """The paper's five metrics of one environment."""
    return {metric: float(last.infos[metric][index]) for metric in METRICS}
