"""`jostle evaluate`: the paper's five metrics of an agent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from jostle.cli.examining import examine_with_bar, write_results
from jostle.evaluation.compare import compare
from jostle.reports.tables import markdown
from jostle.tasks.catalog import TASKS

_SUITE = (
    ("OneCube", None), ("TwoCubes", None), ("ThreeCubes", None), ("SixCubes", None),
    ("AdjacentGoals", None), ("SmallTable", None), ("OrderedPush", None), ("PushT", 1),
    ("PushT", 2), ("Sorting", None), ("Distractors", None),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """Score agents over fixed episodes: seeds 0, 1, 2, ... and the paper's lengths."""

    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Who is examined: oracle, random, a name of the zoo, a run's folder or a file of weights."""
    task: str = "all"
    """A task, or 'all' for one row per task of the suite."""
    objects: int | None = None
    """How many objects; the task's own number by default."""
    colors: Literal["fixed", "random"] = "fixed"
    """Colors of the objects: the task's own, or drawn from six for each episode."""
    episodes: int = 200
    """Episodes per row."""
    seed: int = 0
    """Seed of the first episode."""
    copies: int = 50
    """Episodes played at once."""
    compare: bool = False
    """Pair the first two agents, episode by episode (McNemar)."""
    out: Path | None = None
    """Write OUT.md, and OUT.jsonl with one line per episode, e.g. --out results/oracle."""


def run(argv: list[str]) -> None:
    """Examine, print the table, write it if asked."""
    config = tyro.cli(EvaluateConfig, prog="jostle evaluate", args=argv)
    rows = _SUITE if config.task == "all" else ((TASKS[config.task].name, config.objects),)
    found = [
        examine_with_bar(
            agent, task, objects, config.episodes, config.seed, config.copies, config.colors
        )
        for task, objects in rows
        for agent in config.agents
    ]
    command = f"jostle evaluate {' '.join(argv)}"
    text = markdown([one.summary() for one in found])
    print(text)
    if config.compare and len(config.agents) >= 2:
        for one, two in zip(
            found[:: len(config.agents)], found[1 :: len(config.agents)], strict=True
        ):
            print(f"{one.task}: {compare(one, two).verdict(one.agent, two.agent)}")
    if config.out is not None:
        write_results(config.out, f"Made by `{command}`.\n\n{text}", found)
