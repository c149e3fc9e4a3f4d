"""`jostle evaluate`: the paper's five metrics of an agent."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import tyro

from jostle.cli.examining import Sitting, examine_with_bar, write_results
from jostle.core.errors import require
from jostle.evaluation.compare import compare
from jostle.evaluation.examine import Examination
from jostle.reports.tables import markdown
from jostle.tasks.catalog import TASKS

_SUITE = (
    ("OneCube", None), ("TwoCubes", None), ("ThreeCubes", None), ("SixCubes", None),
    ("AdjacentGoals", None), ("SmallTable", None), ("OrderedPush", None), ("PushT", 1),
    ("PushT", 2), ("Sorting", None), ("Distractors", None),
)  # fmt: skip
Examine = Callable[[Sitting], Examination]


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
    """Pair the first two rows of each task, episode by episode (McNemar)."""
    restless: tuple[float, ...] = ()
    """Examine each trained agent with noise of these deviations instead of its own; 0: without."""
    through: str | None = None
    """Also examine each agent on places that an encoder (a name of the zoo, a run or a file) reads
    off frames, instead of true ones: what perception costs. Agents must read true state."""
    calibrate: Path | None = None
    """Frames with truth to fit the reading of places on; --through needs them."""
    out: Path | None = None
    """Write OUT.md, and OUT.jsonl with one line per episode, e.g. --out results/oracle."""


def run(argv: list[str]) -> None:
    """Examine, print the table, write it if asked."""
    config = tyro.cli(EvaluateConfig, prog="jostle evaluate", args=argv)
    rows = _SUITE if config.task == "all" else ((TASKS[config.task].name, config.objects),)
    ways, notes = _ways(config)
    found = [
        examine(
            Sitting(
                agent=agent,
                task=task,
                objects=objects,
                episodes=config.episodes,
                seed=config.seed,
                copies=config.copies,
                colors=config.colors,
            )
        )
        for task, objects in rows
        for agent in config.agents
        for examine in ways
    ]
    command = f"jostle evaluate {' '.join(argv)}"
    text = "\n".join((markdown([one.summary() for one in found]), *notes))
    print(text)
    each = len(config.agents) * len(ways)
    if config.compare and each >= 2:
        for one, two in zip(found[::each], found[1::each], strict=True):
            print(f"{one.task}: {compare(one, two).verdict(one.agent, two.agent)}")
    if config.out is not None:
        write_results(config.out, f"Made by `{command}`.\n\n{text}", found)


def _ways(config: EvaluateConfig) -> tuple[list[Examine], list[str]]:
    """How each agent is examined, and notes that are there when this is done."""
    plain: list[Examine] = [
        partial(examine_with_bar, restless=level) for level in config.restless
    ] or [examine_with_bar]
    if config.through is None:
        return plain, []
    from jostle.cli.perceiving import Through

    require(config.task != "all", "Places are read with the colors of one task: name it by --task.")
    require(len(plain) == 1, "With --through, name one level of noise at most.")
    level = config.restless[0] if config.restless else None
    reading = Through(config.through, config.calibrate, config.agents, level)
    return [*plain, reading], reading.notes
