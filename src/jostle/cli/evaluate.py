"""`jostle evaluate`: the paper's five metrics of an agent."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import tyro

from jostle.cli.eval_jobs import EvalJob, evaluate_with_bar, write_results
from jostle.core.checks import check_int, check_number, check_output
from jostle.core.errors import require
from jostle.envs.episode_files import read_episodes
from jostle.evaluation.compare import compare
from jostle.evaluation.evaluate import Evaluation
from jostle.reports.failures import cause_table
from jostle.reports.tables import evaluation_table
from jostle.tasks.catalog import TASKS
from jostle.tasks.vary import parse_vary
from jostle.zoo.agents import check_agent_name, has_eval_noise, own_task

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
    """Agents: oracle, random, names of the zoo, run directories, weights files, or module:Policy
    for a class of your own with act(observation)."""
    task: str = "own"
    """A task; 'own' for each trained agent's own task; 'all' for one row per task of the suite.
    Agents without a task of their own are evaluated on the suite."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    colors: Literal["fixed", "random", "hues"] = "fixed"
    """Colors of the objects: the task's own; sampled from six in each episode (random); or evenly
    spaced hues, for more than nine objects (hues)."""
    vary: tuple[str, ...] = ()
    """What differs from the task: factors such as shape=star mass=x20 size=1.5x1.5 friction=0.5
    table=0.4x0.5 color=held-out camera.front.x=+0.05 light=0.7 light_angle=30 drop_camera=side;
    docs/tasks.md lists them."""
    episodes: int = 200
    """Episodes per row."""
    episodes_file: Path | None = None
    """A file with one frozen episode per line, such as 'jostle play' saves, instead of the
    episodes of seeds; it also fixes task, objects and colors."""
    seed: int = 0
    """Seed of the first episode."""
    num_envs: int = 50
    """Environments that run in parallel."""
    causes: bool = False
    """Also find out why episodes failed, and print the shares of the causes
    (docs/concepts/failures.md); the lines of OUT.jsonl name them."""
    device: str = "auto"
    """Where networks compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps."""
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
    """Write OUT.md, and OUT.jsonl with one line per episode, e.g. --out results/oracle. Both are
    written anew after every row, so that an interrupted evaluation keeps its rows."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("episodes", self.episodes, 1)
        check_int("num_envs", self.num_envs, 1)
        check_int("seed", self.seed, 0)
        if self.objects is not None:
            check_int("objects", self.objects, 1)
        parse_vary(self.vary)
        for std in self.eval_noise:
            check_number("eval_noise", std, low=0)


def run(argv: list[str]) -> None:
    """Evaluate, print the table, and write it with --out."""
    config = tyro.cli(EvaluateConfig, prog="jostle evaluate", args=argv)
    if config.out is not None:
        check_output(config.out.with_suffix(".md"))
    jobs = _jobs(config)
    for job in jobs:
        job.check()
    _check_rows(config, jobs)
    evaluators, notes = _evaluators(config)
    results: list[Evaluation] = []
    head = f"# Evaluation\n\nMade by `jostle evaluate {' '.join(argv)}`.\n\n"

    # One row per job and evaluator; what is done is kept
    try:
        for job in jobs:
            for evaluator in evaluators:
                results.append(evaluator(job))
                if config.out is not None:
                    write_results(config.out, head + _table(results, notes), results)
    finally:
        if results:
            print(_table(results, notes))
        if results and config.out is not None:
            print(f"written: {config.out.with_suffix('.md')}, {config.out.with_suffix('.jsonl')}")

    # Paired comparison of the first two rows of each task
    if config.compare:
        for task in dict.fromkeys((result.task, result.objects) for result in results):
            first, second = [row for row in results if (row.task, row.objects) == task][:2]
            print(f"{first.task}: {compare(first, second).verdict(first.agent, second.agent)}")


def _table(results: list[Evaluation], notes: list[str]) -> str:
    tables = [evaluation_table([result.summary() for result in results])]
    if shares := cause_table(results):
        tables.append(f"Causes of failures:\n\n{shares}")
    return "\n".join((*tables, *notes))


def _jobs(config: EvaluateConfig) -> list[EvalJob]:
    """What to evaluate, task after task; all names are checked before anything runs."""
    require(len(config.agents) > 0, "Name at least one agent, such as three-cubes-state or oracle.")
    tasks: dict[tuple[str, int | tuple[int, int] | None], list[str]] = {}
    for agent in config.agents:
        check_agent_name(agent)
        if config.episodes_file is not None:
            continue
        for task in _tasks(config, agent):
            tasks.setdefault(task, []).append(agent)
    if config.episodes_file is not None:
        return _stored_jobs(config, config.episodes_file)
    return [
        EvalJob(
            agent=agent,
            task=task,
            objects=objects,
            episodes=config.episodes,
            seed=config.seed,
            num_envs=config.num_envs,
            colors=config.colors,
            vary=parse_vary(config.vary),
            device=config.device,
        )
        for (task, objects), agents in tasks.items()
        for agent in agents
    ]


def _stored_jobs(config: EvaluateConfig, path: Path) -> list[EvalJob]:
    """Every agent on the episodes of a file."""
    defaults = {field.name: field.default for field in fields(EvaluateConfig)}
    for name in ("task", "objects", "colors", "vary", "episodes", "seed", "state_estimator"):
        require(
            getattr(config, name) == defaults[name],
            f"--{name.replace('_', '-')} cannot be combined with --episodes-file, whose episodes "
            "are frozen.",
        )
    stored = read_episodes(path)
    return [
        EvalJob(
            agent=agent,
            task=stored[0].task,
            episodes=len(stored),
            num_envs=config.num_envs,
            stored=stored,
        )
        for agent in config.agents
    ]


def _check_rows(config: EvaluateConfig, jobs: list[EvalJob]) -> None:
    """Refuse noise on agents that have none, and comparisons without a second row."""
    if any(config.eval_noise):
        for agent in config.agents:
            require(
                has_eval_noise(agent),
                f"--eval-noise is for trained agents; '{agent}' acts without it. Leave it out, or "
                "evaluate them in separate commands.",
            )
    if config.compare:
        rows = max(len(config.eval_noise), 1) + (config.state_estimator is not None)
        for (task, _), number in Counter((job.task, job.objects) for job in jobs).items():
            require(
                number * rows >= 2,
                f"--compare pairs the first two rows of a task, but {task} has one: name two "
                "agents and one --task, or two --eval-noise.",
            )


def _tasks(
    config: EvaluateConfig, agent: str
) -> Sequence[tuple[str, int | tuple[int, int] | None]]:
    """Tasks and numbers of objects on which an agent is evaluated."""
    if config.task == "own":
        own = own_task(agent)
        if own is not None:
            return ((own[0], config.objects or own[1]),)
    if config.task in ("own", "all"):
        return _SUITE
    return ((TASKS[config.task].name, config.objects),)


def _evaluators(config: EvaluateConfig) -> tuple[list[Evaluator], list[str]]:
    """Ways in which each agent is evaluated, and a list of notes that they append to."""
    evaluators: list[Evaluator] = [
        partial(evaluate_with_bar, eval_noise=std, causes=config.causes)
        for std in config.eval_noise
    ] or [partial(evaluate_with_bar, causes=config.causes)]
    if config.state_estimator is None:
        return evaluators, []
    from jostle.cli.state_estimation import EstimatedStateEvaluator

    require(
        config.task not in ("own", "all"),
        "A state estimator knows the colors of one task: name the task with --task.",
    )
    require(not config.causes, "Causes are not known with --state-estimator: leave out --causes.")
    require(len(evaluators) == 1, "With --state-estimator, give at most one --eval-noise.")
    std = config.eval_noise[0] if config.eval_noise else None
    estimated = EstimatedStateEvaluator(
        config.state_estimator, config.estimator_frames, config.agents, std
    )
    return [*evaluators, estimated], estimated.notes
