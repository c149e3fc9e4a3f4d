"""`jostle evaluate`: the paper's five metrics of an agent."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import tyro

from jostle.cli.eval_jobs import EvalJob, evaluate_with_bar, write_results
from jostle.core.errors import require
from jostle.evaluation.compare import compare
from jostle.evaluation.evaluate import Evaluation
from jostle.reports.tables import evaluation_table
from jostle.tasks.catalog import TASKS

_SUITE = (
    ("OneCube", None), ("TwoCubes", None), ("ThreeCubes", None), ("SixCubes", None),
    ("AdjacentGoals", None), ("SmallTable", None), ("OrderedPush", None), ("PushT", 1),
    ("PushT", 2), ("Sorting", None), ("Distractors", None),
)  # fmt: skip
Evaluator = Callable[[EvalJob], Evaluation]


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """Evaluate agents on fixed episodes: seeds 0, 1, 2, ... and the paper's episode lengths."""

    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Agents: oracle, random, names of the zoo, run directories or weights files."""
    task: str = "all"
    """A task, or 'all' for one row per task of the suite."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    colors: Literal["fixed", "random"] = "fixed"
    """Colors of the objects: the task's own, or sampled from six in each episode."""
    episodes: int = 200
    """Episodes per row."""
    seed: int = 0
    """Seed of the first episode."""
    num_envs: int = 50
    """Environments that run in parallel."""
    compare: bool = False
    """Compare the first two rows of each task episode by episode (McNemar's test)."""
    eval_noise: tuple[float, ...] = ()
    """Standard deviations of evaluation noise to use instead of each agent's own; 0 for none."""
    state_estimator: str | None = None
    """Also evaluate each agent on positions estimated from frames instead of true ones, to measure
    the cost of perception: an encoder by name of the zoo, run or file. For state agents only."""
    estimator_frames: Path | None = None
    """Frames with ground truth to fit the state estimator on; --state-estimator needs them."""
    out: Path | None = None
    """Write OUT.md, and OUT.jsonl with one line per episode, e.g. --out results/oracle."""


def run(argv: list[str]) -> None:
    """Evaluate, print the table, and write it with --out."""
    config = tyro.cli(EvaluateConfig, prog="jostle evaluate", args=argv)
    tasks = _SUITE if config.task == "all" else ((TASKS[config.task].name, config.objects),)
    evaluators, notes = _evaluators(config)
    # One row per task, agent and evaluator
    results = [
        evaluator(
            EvalJob(
                agent=agent,
                task=task,
                objects=objects,
                episodes=config.episodes,
                seed=config.seed,
                num_envs=config.num_envs,
                colors=config.colors,
            )
        )
        for task, objects in tasks
        for agent in config.agents
        for evaluator in evaluators
    ]
    command = f"jostle evaluate {' '.join(argv)}"
    text = "\n".join((evaluation_table([result.summary() for result in results]), *notes))
    print(text)
    # Paired comparison of the first two rows of each task
    rows_per_task = len(config.agents) * len(evaluators)
    if config.compare and rows_per_task >= 2:
        for first, second in zip(results[::rows_per_task], results[1::rows_per_task], strict=True):
            print(f"{first.task}: {compare(first, second).verdict(first.agent, second.agent)}")
    if config.out is not None:
        write_results(config.out, f"Made by `{command}`.\n\n{text}", results)


def _evaluators(config: EvaluateConfig) -> tuple[list[Evaluator], list[str]]:
    """Ways in which each agent is evaluated, and a list of notes that they append to."""
    evaluators: list[Evaluator] = [
        partial(evaluate_with_bar, eval_noise=std) for std in config.eval_noise
    ] or [evaluate_with_bar]
    if config.state_estimator is None:
        return evaluators, []
    from jostle.cli.state_estimation import EstimatedStateEvaluator

    require(
        config.task != "all",
        "A state estimator knows the colors of one task: name the task with --task.",
    )
    require(len(evaluators) == 1, "With --state-estimator, give at most one --eval-noise.")
    std = config.eval_noise[0] if config.eval_noise else None
    estimated = EstimatedStateEvaluator(
        config.state_estimator, config.estimator_frames, config.agents, std
    )
    return [*evaluators, estimated], estimated.notes
