"""Results of single episodes, as `jostle evaluate --out` stores them, and their comparison."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle.core.errors import BadValueError, require
from jostle.core.goal_metric import METRICS
from jostle.evaluation.compare import Comparison, count_successes
from jostle.evaluation.statistics import Interval, Scores, paired_difference, paired_improvement

SMALLER_IS_BETTER = ("average_distance", "maximum_distance")
"""Metrics of which less is better."""
Key = tuple[str, int, str]
"""Task, number of objects and variation."""


@dataclass(frozen=True)
class StoredResult:
    """All episodes of one agent on one task."""

    agent: str
    key: Key
    episodes: tuple[str, ...]
    """Content hash of each episode."""
    metrics: dict[str, Scores]
    """The paper's five metrics, (E,) each."""
    mujoco: frozenset[str]
    """Versions of the simulator."""

    def title(self) -> str:
        """Name of the task, the number of objects, and what differs from the task."""
        task, objects, vary = self.key
        return f"{task}, {objects} objects" + (f", {vary}" if vary else "")

    def of(self, metric: str, episodes: list[str]) -> Scores:
        """A metric on some of the episodes, in their order."""
        place = {digest: index for index, digest in enumerate(self.episodes)}
        return self.metrics[metric][[place[digest] for digest in episodes]]


class MetricDifference(NamedTuple):
    """How two agents differ in one metric on the same episodes."""

    metric: str
    first: float
    second: float
    difference: Interval
    """Mean of first minus second."""
    improvement: Interval
    """Fraction of the episodes on which the first agent is better, ties counting half."""


def read_results(path: Path) -> list[StoredResult]:
    """Read the results in a .jsonl file, one per agent and task."""
    groups: dict[tuple[str, Key], list[dict[str, Any]]] = {}
    try:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            key = (row["task"], row["objects"], row.get("vary", ""))
            if not {"digest", *METRICS} <= row.keys():
                raise KeyError("digest or a metric is missing")
            groups.setdefault((row["agent"], key), []).append(row)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadValueError(
            f"{path} has no results of single episodes ({error}): make it with 'jostle evaluate "
            "AGENT --out NAME', which writes NAME.jsonl."
        ) from error
    require(len(groups) > 0, f"{path} is empty: evaluate an agent with --out first.")
    return [_result(agent, key, rows) for (agent, key), rows in groups.items()]


def common_episodes(first: StoredResult, second: StoredResult) -> list[str]:
    """Episodes that both results have, in the order of the first."""
    other = set(second.episodes)
    return [digest for digest in first.episodes if digest in other]


def compare_results(
    first: StoredResult, second: StoredResult, rng: np.random.Generator
) -> tuple[Comparison, list[MetricDifference]]:
    """Compare two agents on their common episodes: successes, and all five metrics."""
    episodes = common_episodes(first, second)
    require(
        len(episodes) > 0,
        f"{first.agent} and {second.agent} have no episode of {first.title()} in common: evaluate "
        "both with the same --seed and the same version of the package.",
    )
    differences = []
    for metric in METRICS:
        own, other = first.of(metric, episodes), second.of(metric, episodes)
        sign = -1.0 if metric in SMALLER_IS_BETTER else 1.0
        differences.append(
            MetricDifference(
                metric,
                float(own.mean()),
                float(other.mean()),
                paired_difference(own, other, rng),
                paired_improvement(sign * own, sign * other, rng),
            )
        )
    solved = [[bool(x > 0.5) for x in r.of("success", episodes)] for r in (first, second)]
    return count_successes(*solved), differences


def _result(agent: str, key: Key, rows: list[dict[str, Any]]) -> StoredResult:
    digests = tuple(row["digest"] for row in rows)
    require(
        len(set(digests)) == len(digests),
        f"{agent} has some episodes of {key[0]} twice: results of one agent are one evaluation.",
    )
    metrics = {metric: np.array([row[metric] for row in rows], float) for metric in METRICS}
    versions = frozenset(row.get("mujoco", "unknown") for row in rows)
    return StoredResult(agent, key, digests, metrics, versions)
