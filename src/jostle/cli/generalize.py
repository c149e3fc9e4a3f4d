"""`jostle generalize AGENT`: where an agent breaks when its task changes."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from jostle.cli.bars import print_progress
from jostle.cli.eval_jobs import EvalJob
from jostle.cli.grid_budget import choose_episodes, estimate_seconds, measure_step
from jostle.cli.grid_pages import film_worst, write_pages
from jostle.cli.grid_run import (
    GridPlan,
    evaluate_cell,
    evaluate_missing,
    evaluate_missing_at_once,
    leftover_rows,
)
from jostle.cli.scored_rows import Cache, cached_row, zoo_scores
from jostle.cluster.executors import make_executor
from jostle.core.checks import check_int, check_minutes, check_output
from jostle.core.errors import BadValueError, ImpossibleSceneError, require
from jostle.core.extras import require_packages
from jostle.evaluation.grid import PRESETS, Cell, GridAgent, grid_cells
from jostle.evaluation.retained import CellResult, summarize
from jostle.evaluation.scores import digest, read_scores, write_scores
from jostle.oracles.catalog import SCRIPTED
from jostle.reports.video import check_packages
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import (
    check_agent_name,
    find_weights_file,
    is_class,
    own_task,
    required_env_kwargs,
)
from jostle.zoo.registry import read_meta

_NOT_YET = "not evaluated yet"
_PATIENCE = 1.5
"""A grid that turns out to take this many times its limit is interrupted."""


@dataclass(frozen=True, kw_only=True)
class GeneralizeConfig:
    """Evaluate an agent on a grid of changes of its task, and map how much success it keeps.

    Every cell is a row as of 'jostle evaluate'. Rows are stored as they are made: the same command
    resumes, and does not repeat them.
    """

    agent: Annotated[str, tyro.conf.Positional]
    """Agent: a name of the zoo, a run directory, a weights file, oracle, random or module:Class."""
    task: str = "own"
    """A task; 'own' for the one that the agent was trained on."""
    preset: str = "quick"
    """quick: short ladders in 10 minutes; paper: the paper's table of object properties and its
    numbers of cubes, 400 episodes each; full: long ladders, pairs, up to 12 objects."""
    factors: tuple[str, ...] = ()
    """Only these ladders of the preset, such as count mass size pairs; all by default."""
    counts: tuple[int, ...] | None = None
    """Numbers of objects instead of the preset's."""
    pairs: tuple[str, ...] = ()
    """More cells with several changes at once: --pairs "size=1.5 mass=x20" "count=6 shape=star"."""
    episodes: int | None = None
    """Episodes per cell; by default the preset's, or as many as --minutes allows."""
    minutes: float | None = None
    """Time limit. A grid that takes longer is refused, and the time it would take is named."""
    seed: int = 0
    """Seed of the first episode."""
    num_envs: int = 50
    """Environments that run in parallel."""
    jobs: int = 1
    """Cells that are evaluated at a time, each in a process with one thread. The results are the
    same."""
    ray: str | None = None
    """Address of a Ray cluster that evaluates cells, whose machines share the folder of --out."""
    only: int | None = None
    """Evaluate the cell of this number alone, and write nothing but its row, to OUT.json: what
    --jobs runs."""
    reuse: tuple[Path, ...] = ()
    """Other results, .json of 'jostle benchmark' or this command, whose rows are not repeated."""
    film: bool = True
    """Record a failed episode of the worst cell; --no-film does not."""
    out: Path | None = None
    """Write OUT.json, OUT.md, OUT.html and OUT.png; generalization/AGENT by default."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        _ = PRESETS[self.preset]
        check_minutes(self.minutes)
        check_int("seed", self.seed, 0)
        check_int("num_envs", self.num_envs, 1)
        check_int("jobs", self.jobs, 1)
        if self.episodes is not None:
            check_int("episodes", self.episodes, 1)


def run(argv: list[str]) -> None:
    """Estimate, evaluate what is missing, write the pages, and print one line."""
    config = tyro.cli(GeneralizeConfig, prog="jostle generalize", args=argv)
    check_agent_name(config.agent)
    if config.only is not None:
        _evaluate_only(config, config.only)
        return
    at_once = config.jobs > 1 or config.ray is not None
    executor = make_executor(config.ray, config.jobs) if at_once else None
    require_packages("A map of a grid", "matplotlib")
    if config.film:
        check_packages()
    out = config.out or Path("generalization") / Path(config.agent).name
    file = out.with_suffix(".json")
    check_output(file)
    cells = _cells(config)
    stored = read_scores(file) | leftover_rows(file)

    # Rows: those that are known, and those that are missing
    grid = _plan(config, cells, stored)
    if executor is None:
        evaluate_missing(grid, stored, file)
    elif grid.missing:
        evaluate_missing_at_once(grid, stored, file, argv, executor)

    # Pages
    results = [
        CellResult(cell=cell, row=grid.rows.get(i), reason=grid.impossible.get(i, _NOT_YET))
        for i, cell in enumerate(cells)
    ]
    summary = summarize(config.agent, results)
    film = film_worst(config.agent, results, out) if config.film else None
    written = write_pages(out, results, summary, f"jostle generalize {' '.join(argv)}", film)
    print(summary)
    print(f"written: {', '.join(str(path) for path in written)}")


def _cells(config: GeneralizeConfig) -> list[Cell]:
    agent, preset = grid_agent(config.agent, config.task), PRESETS[config.preset]
    return grid_cells(preset, agent, config.factors, config.counts, config.pairs)


def _evaluate_only(config: GeneralizeConfig, index: int) -> None:
    """Evaluate one cell, and write its row."""
    cells, episodes, out = _cells(config), config.episodes, config.out
    if episodes is None or out is None or not 0 <= index < len(cells):
        raise BadValueError(
            f"--only is a number from 0 to {len(cells) - 1} here, with --episodes and --out."
        )
    row = evaluate_cell(_job(cells[index], config, episodes))
    write_scores(out.with_suffix(".json"), [row])


def _plan(config: GeneralizeConfig, cells: list[Cell], stored: Cache) -> GridPlan:
    """Choose the number of episodes, find known rows, print the estimate, and check the budget."""
    preset = PRESETS[config.preset]
    cache = zoo_scores() | stored
    for path in config.reuse:
        require(path.is_file(), f"There are no results in {path}.")
        cache |= read_scores(path)

    # Episodes
    minutes = config.minutes if config.minutes is not None else preset.minutes
    jobs = [_job(cell, config, 1) for cell in cells]
    impossible = _impossible(cells, jobs, config.pairs)
    step_seconds = measure_step(jobs[0], config.num_envs)
    wanted = config.episodes or preset.episodes or _stored_episodes(config.agent, stored)
    episodes = choose_episodes(jobs, step_seconds / config.jobs, config.num_envs, wanted, minutes)

    # Known rows
    jobs = [replace(job, episodes=episodes) for job in jobs]
    impossible |= _impossible(cells, jobs, config.pairs)
    rows = {
        index: row
        for index, job in enumerate(jobs)
        if index not in impossible and (row := cached_row(job, config.agent, cache)) is not None
    }
    plan = GridPlan(jobs, rows, impossible, _end(minutes))
    missing = [jobs[index] for index in plan.missing]

    # Estimate
    needed = estimate_seconds(missing, step_seconds, config.num_envs) / 60 / config.jobs
    print_progress(
        f"{len(cells)} cells of {episodes} episodes, {len(missing)} of them to evaluate: about "
        f"{needed:.1f} min"
    )
    require(
        minutes is None or needed <= minutes,
        f"This grid takes about {needed:.0f} min, more than the {minutes} min that it may take. "
        "Give it more with --minutes, or name fewer --factors or --episodes.",
    )
    return plan


def _end(minutes: float | None) -> float | None:
    return None if minutes is None else time.monotonic() + 60 * _PATIENCE * minutes


def grid_agent(name: str, task: str) -> GridAgent:
    """What a grid depends on of an agent, by name; `task` is 'own' or another task."""
    own = own_task(name)
    if task == "own":
        if own is None:
            raise BadValueError(f"'{name}' has no task of its own: name one with --task.")
        task, objects = own
        count = TASKS[task].objects if objects is None else objects
    else:
        count = TASKS[task].objects
    if not isinstance(count, int):
        count = max(count)
    kwargs = required_env_kwargs(name)
    colors = "fixed"
    if name not in SCRIPTED and not is_class(name):
        colors = read_meta(find_weights_file(name)).get("experiment", {}).get("colors", "fixed")
    cameras = tuple(str(camera) for camera in kwargs.get("cameras", ()))
    return GridAgent(task=TASKS[task].name, objects=count, colors=colors, cameras=cameras)


def _job(cell: Cell, config: GeneralizeConfig, episodes: int) -> EvalJob:
    return EvalJob(
        agent=config.agent,
        task=cell.task,
        objects=cell.objects if TASKS[cell.task].objects != cell.objects else None,
        episodes=episodes,
        num_envs=config.num_envs,
        seed=config.seed,
        colors=cell.colors,
        vary=cell.vary,
    )


def _stored_episodes(agent: str, stored: Cache) -> int | None:
    """Episodes per cell of an earlier, perhaps interrupted, grid of the same weights."""
    if agent in SCRIPTED or is_class(agent):
        weights = f"script {agent}"
    else:
        weights = digest(find_weights_file(agent))
    numbers = [row["episodes"] for row in stored.values() if row["weights"] == weights]
    return numbers[-1] if numbers else None


def _impossible(cells: list[Cell], jobs: list[EvalJob], asked: tuple[str, ...]) -> dict[int, str]:
    """Cells that cannot be on this task, with the reason; those that were asked for are errors."""
    reasons: dict[int, str] = {}
    for index, (cell, job) in enumerate(zip(cells, jobs, strict=True)):
        try:
            job.check()
        except ImpossibleSceneError as error:
            if cell.label in asked:
                raise
            reasons[index] = str(error)
    return reasons
