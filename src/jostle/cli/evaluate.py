"""`jostle evaluate`: the paper's five metrics of an agent."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from tqdm import tqdm

from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.compare import compare
from jostle.evaluation.examine import Examination, examine
from jostle.reports.tables import markdown
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import agent_for

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
        _one(config, agent, task, objects) for task, objects in rows for agent in config.agents
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
        config.out.parent.mkdir(parents=True, exist_ok=True)
        page = f"Made by `{command}`.\n\n{text}"
        config.out.with_suffix(".md").write_text(page)
        with config.out.with_suffix(".jsonl").open("w") as lines:
            for one in found:
                for row in one.rows():
                    head = {"task": one.task, "agent": one.agent, "objects": one.objects}
                    lines.write(json.dumps({**head, **row}) + "\n")
        print(f"written: {config.out.with_suffix('.md')}, {config.out.with_suffix('.jsonl')}")


def _one(config: EvaluateConfig, agent: str, task: str, objects: int | None) -> Examination:
    copies = min(config.copies, max(config.episodes, 1))
    env = TabletopVectorEnv(copies, task, objects=objects, autoreset_mode="Disabled")
    steps = env.recipe.task.evaluation_steps(env.recipe.most) + 1
    rounds = -(-config.episodes // copies)
    with tqdm(total=steps * rounds * copies, desc=f"{task} {agent}", unit="step") as bar:
        return examine(
            env, agent_for(agent, env), agent, config.episodes, config.seed, progress=bar.update
        )
