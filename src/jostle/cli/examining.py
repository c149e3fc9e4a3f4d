"""What `evaluate`, `table` and `demo` have in common: examine with a bar, write what was found."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from jostle.core.protocols import Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.examine import Examination, examine
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import agent_for, what_it_reads


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """Which agent, by the word a user types, is examined on which fixed episodes."""

    agent: str
    task: str
    episodes: int
    copies: int
    objects: int | None = None
    seed: int = 0
    colors: str = "fixed"

    def stage(self, **seen: Any) -> TabletopVectorEnv:
        """Copies of the task that show what the options `seen` say."""
        return TabletopVectorEnv(
            min(self.copies, max(self.episodes, 1)),
            TASKS[self.task].name,
            objects=self.objects,
            colors=self.colors,
            autoreset_mode="Disabled",
            **seen,
        )


def examine_with_bar(sitting: Sitting, restless: float | None = None) -> Examination:
    """Examine an agent, with noise of deviation `restless` instead of its own if that is given."""
    env = sitting.stage(**what_it_reads(sitting.agent))
    policy = agent_for(sitting.agent, env, restless)
    name = sitting.agent + ("" if restless is None else f" (restless {restless:g})")
    return play_with_bar(env, policy, name, sitting.episodes, sitting.seed)


def play_with_bar(
    env: TabletopVectorEnv, policy: Policy, name: str, episodes: int, seed: int
) -> Examination:
    """Examine a policy in its environment, by any name."""
    task = env.recipe.task
    steps = task.evaluation_steps(env.recipe.most) + 1
    rounds = -(-episodes // env.num_envs)
    total = steps * rounds * env.num_envs
    with tqdm(total=total, desc=f"{task.name} {name}", unit="step") as bar:
        return examine(env, policy, name, episodes, seed, progress=bar.update)


def write_results(out: Path, page: str, found: Sequence[Examination]) -> None:
    """Write OUT.md, and OUT.jsonl with one line per episode."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".md").write_text(page)
    with out.with_suffix(".jsonl").open("w") as lines:
        for one in found:
            head = {"task": one.task, "agent": one.agent, "objects": one.objects}
            for row in one.rows():
                lines.write(json.dumps({**head, **row}) + "\n")
    print(f"written: {out.with_suffix('.md')}, {out.with_suffix('.jsonl')}")
