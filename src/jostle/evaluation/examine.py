"""Agent times task times episodes: the paper's five metrics, with intervals."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.measures import METRICS
from jostle.core.protocols import Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.driver import Step, play

ANGLE_BINS = 18
"""Bars of a histogram of headings: ten degrees each."""


@dataclass(frozen=True)
class EpisodeResult:
    """The final moment of one episode."""

    number: int
    """Which episode of the set."""
    digest: str
    """Content hash of the episode that was played."""
    success: float
    success_fraction: float
    average_distance: float
    maximum_distance: float
    average_return: float
    fallen: int
    """Objects that left the table."""
    distances: tuple[float, ...]
    """How far each object is from its goal, in meters or radians."""


@dataclass(frozen=True)
class Examination:
    """All episodes of one agent on one task."""

    task: str
    agent: str
    objects: int
    steps: int
    seed: int
    episodes: tuple[EpisodeResult, ...]
    kind: Literal["position", "yaw"] = "position"
    """What is measured."""

    @property
    def digest(self) -> str:
        """Content hash of the set of episodes: equal for every agent that played them."""
        joined = "".join(one.digest for one in self.episodes)
        return hashlib.sha256(joined.encode()).hexdigest()[:12]

    def mean(self, metric: str) -> float:
        """Mean of a metric over the episodes."""
        return float(np.mean([getattr(one, metric) for one in self.episodes]))

    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the success rate."""
        wins = sum(one.success for one in self.episodes)
        return wilson(wins, len(self.episodes))

    def summary(self) -> dict[str, Any]:
        """One row of a table."""
        low, high = self.interval()
        means = {metric: self.mean(metric) for metric in METRICS}
        fallen = float(np.mean([one.fallen > 0 for one in self.episodes]))
        distances = np.concatenate([one.distances for one in self.episodes])
        turns = {"angles": angle_counts(distances)} if self.kind == "yaw" else {}
        return {
            "task": self.task,
            "agent": self.agent,
            "objects": self.objects,
            "steps": self.steps,
            "seed": self.seed,
            "episodes": len(self.episodes),
            "episode_set": self.digest,
            **means,
            "success_low": low,
            "success_high": high,
            "fallen": fallen,
            "median_distance": float(np.median(distances)),
            **turns,
        }

    def rows(self) -> list[dict[str, Any]]:
        """One JSON-able row per episode."""
        return [asdict(one) for one in self.episodes]


def examine(
    env: TabletopVectorEnv,
    policy: Policy,
    agent: str,
    episodes: int,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Examination:
    """Play `episodes` episodes (seeds `seed`, `seed + 1`, ...) of the paper's evaluation length."""
    require(episodes >= 1, f"At least one episode must be played, not {episodes}.")
    task = env.recipe.task
    steps = task.evaluation_steps(env.recipe.most)
    results: list[EpisodeResult] = []

    def tick(step: Step) -> None:
        del step
        if progress is not None:
            progress(env.num_envs)

    while len(results) < episodes:
        last = play(env, policy, steps, seed=seed + len(results), watch=tick)
        results += _read(env, last, first=len(results))
    found = tuple(results[:episodes])
    return Examination(task.name, agent, env.recipe.most, steps, seed, found, env.measure.kind)


def wilson(wins: float, total: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson score interval of a proportion."""
    share = wins / total
    scale = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    spread = z / scale * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    low = 0.0 if wins <= 0 else middle - spread
    high = 1.0 if wins >= total else middle + spread
    return low, high


def angle_counts(errors: NDArray[np.float64]) -> list[int]:
    """How many errors fall into each of the equal parts of half a turn."""
    counts, _ = np.histogram(errors, bins=ANGLE_BINS, range=(0.0, math.pi))
    return [int(count) for count in counts]


def _read(env: TabletopVectorEnv, last: Step, first: int) -> list[EpisodeResult]:
    below = env.fallen()  # (B,)
    gaps = last.infos["distances"]  # (B, N)
    there = [
        [one.present for one in episode.scene.objects[: env.recipe.most]]
        for episode in env.episodes
    ]
    return [
        EpisodeResult(
            number=first + copy,
            digest=env.episodes[copy].digest,
            fallen=int(below[copy]),
            distances=tuple(gaps[copy][there[copy]].tolist()),
            **{metric: float(last.infos[metric][copy]) for metric in METRICS},
        )
        for copy in range(env.num_envs)
    ]
