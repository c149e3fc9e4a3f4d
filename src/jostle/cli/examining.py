"""What `evaluate`, `table` and `demo` have in common: examine with a bar, write what was found."""

import json
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from jostle.core.protocols import Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.examine import Examination, examine
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import agent_for, what_it_reads


def stage_for(
    agent: str, task: str, objects: int | None, copies: int, colors: str
) -> TabletopVectorEnv:
    """Copies of a task in which an agent, by the word a user types, can be examined."""
    return TabletopVectorEnv(
        copies,
        TASKS[task].name,
        objects=objects,
        colors=colors,
        autoreset_mode="Disabled",
        **what_it_reads(agent),
    )


def examine_with_bar(
    agent: str,
    task: str,
    objects: int | None,
    episodes: int,
    seed: int,
    copies: int,
    colors: str = "fixed",
) -> Examination:
    """Examine an agent, by the word a user types, on fixed episodes of a task."""
    env = stage_for(agent, task, objects, min(copies, max(episodes, 1)), colors)
    return play_with_bar(env, agent_for(agent, env), agent, episodes, seed)


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
