"""`jostle compare RESULT RESULT`: two agents on the same episodes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from jostle.core.checks import check_int, check_output
from jostle.core.errors import require
from jostle.core.goal_metric import METRICS
from jostle.evaluation.stored import (
    SMALLER_IS_BETTER,
    StoredResult,
    common_episodes,
    compare_results,
    read_results,
)
from jostle.reports.tables import markdown_table


@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """Compare two agents on the same episodes, from stored results.

    For every task that both have: McNemar's exact test of the successes, and for each metric the
    difference with its 95 % interval (paired bootstrap) and the fraction of episodes on which the
    first agent is better (probability of improvement, ties counting half).
    """

    results: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """One or two .jsonl files of 'jostle evaluate AGENT --out NAME', with two agents in all."""
    agents: tuple[str, ...] = ()
    """Which two agents to compare, in this order, if the files hold more."""
    plot: Path | None = None
    """Plot performance profiles: the fraction of episodes that are better than a threshold."""
    metric: str = "maximum_distance"
    """Metric of the plot: one of the paper's five."""
    seed: int = 0
    """Seed of the bootstrap."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("seed", self.seed, 0)
        require(
            self.metric in METRICS,
            f"There is no metric '{self.metric}': choose one of {', '.join(METRICS)}.",
        )
        require(1 <= len(self.results) <= 2, "Name one or two files of results.")
        require(len(self.agents) in (0, 2), "Name two agents with --agents, or none.")


def run(argv: list[str]) -> None:
    """Compare, print, and plot with --plot."""
    config = tyro.cli(CompareConfig, prog="jostle compare", args=argv)
    if config.plot is not None:
        from jostle.reports.learning_curves import check_format

        check_format(config.plot)
        check_output(config.plot)
    pairs = _pairs(config)
    rng = np.random.default_rng(config.seed)
    for first, second in pairs:
        _print_pair(first, second, rng)
    if config.plot is not None:
        from jostle.reports.profiles import plot_profiles

        smaller = config.metric in SMALLER_IS_BETTER
        print(f"plot: {plot_profiles(pairs, config.metric, smaller, config.plot, rng)}")


def _pairs(config: CompareConfig) -> list[tuple[StoredResult, StoredResult]]:
    """Results of the two agents, task by task."""
    by_agent: dict[tuple[int, str], dict[tuple[str, int, str], StoredResult]] = {}
    for number, path in enumerate(config.results):
        for result in read_results(path):
            by_agent.setdefault((number, result.agent), {})[result.key] = result
    chosen = list(by_agent)
    if config.agents:
        chosen = [key for name in config.agents for key in by_agent if key[1] == name]
    names = ", ".join(agent for _, agent in by_agent)
    require(
        len(chosen) == 2,
        f"Two agents are compared, and these results are of {names}: choose two of them with "
        "--agents FIRST SECOND.",
    )
    first, second = (by_agent[key] for key in chosen)
    pairs = [(first[key], second[key]) for key in first if key in second]
    require(len(pairs) > 0, f"{chosen[0][1]} and {chosen[1][1]} have no task in common.")
    return pairs


def _print_pair(first: StoredResult, second: StoredResult, rng: np.random.Generator) -> None:
    counts, differences = compare_results(first, second, rng)
    episodes = len(common_episodes(first, second))
    left_out = len(first.episodes) + len(second.episodes) - 2 * episodes
    print(f"{first.title()}, {episodes} common episodes" + f" ({left_out} others)" * (left_out > 0))
    if first.mujoco != second.mujoco:
        versions = " and ".join("/".join(sorted(r.mujoco)) for r in (first, second))
        print(f"Note: the versions of MuJoCo differ ({versions}); so may the physics.")
    names = [first.agent, second.agent]
    if names[0] == names[1]:
        names = ["first", "second"]
    header = ("metric", *names, "difference [95 %]", f"P({names[0]} better) [95 %]")
    lines = [
        (
            row.metric, f"{row.first:.4f}", f"{row.second:.4f}", row.difference.text(4),
            row.improvement.text(),
        )
        for row in differences
    ]  # fmt: skip
    print(f"\n{markdown_table(header, lines)}\n{counts.verdict(*names)}\n")
