"""`jostle reproduce NAME`: train a model of the zoo again, from nothing."""

import shlex
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from jostle.cli.bars import print_progress, progress_bar
from jostle.core.checks import check_int, check_output
from jostle.core.extras import require_packages
from jostle.core.files import write_text
from jostle.reports.tables import evaluation_table, markdown_table

if TYPE_CHECKING:  # it needs torch, which help does without
    from jostle.zoo.reproduce import Stage

_POLL_SECONDS = 2.0
"""How often the bar is redrawn."""


@dataclass(frozen=True, kw_only=True)
class ReproduceConfig:
    """Train a model of the zoo again: first everything that it starts from or imitates.

    Every stage is a run folder. Repeat the command to resume; what is finished is kept.
    """

    name: Annotated[str, tyro.conf.Positional]
    """Agent or encoder of the zoo, such as three-cubes-pixels."""
    out: Path = Path("runs/reproduce")
    """Folder for the runs."""
    seed: int = 0
    """Seed of all stages."""
    encoders: bool = False
    """Whether encoders are trained again, too, from frames that are collected first; otherwise
    those of the zoo are used."""
    dry_run: bool = False
    """Only list the stages and how long they took when the zoo was made."""
    episodes: int = 400
    """Fixed episodes on which the result is compared with the zoo's; 0: no comparison."""
    jobs: int = 1
    """Stages that are run at a time, where they do not need each other."""
    ray: str | None = None
    """Address of a Ray cluster whose machines share the folder."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("seed", self.seed, 0)
        check_int("episodes", self.episodes, 0)
        check_int("jobs", self.jobs, 1)


def run(argv: list[str]) -> int:
    """Run the stages that are not done, then compare; returns 1 if one failed."""
    config = tyro.cli(ReproduceConfig, prog="jostle reproduce", args=argv)
    require_packages("Training", "torch")
    from jostle.zoo.reproduce import minutes_of_the_zoo, plan

    # What there is to do
    stages = plan(config.name, config.out, config.seed, config.encoders)
    minutes = minutes_of_the_zoo([stage.name for stage in stages])
    print(_table(stages))
    if minutes:
        print(f"When the zoo was made, the agents took {minutes:.0f} minutes of one thread.")
    if config.dry_run:
        return 0

    # Training and comparison
    check_output(config.out, folder=True)
    failed = _run_stages(config, stages)
    for text in failed:
        print(text)
    left = [stage.name for stage in stages if stage.total and not stage.done]
    if left:
        print(f"not done: {', '.join(left)}; the same command resumes")
        return 1
    print(f"done: {stages[-1].job.folder}")
    if config.episodes and stages[-1].counter == "env_steps":
        _compare(stages[-1].name, stages[-1].job.folder, config)
    return 0


def _run_stages(config: ReproduceConfig, stages: "Sequence[Stage]") -> list[str]:
    """Run all stages in an order that respects what they need; what failed ones said."""
    from jostle.cluster.executors import make_executor
    from jostle.cluster.jobs import Job, JobResult, stops_on_sigterm
    from jostle.zoo.reproduce import next_stage

    started, finished, failed = set[str](), set[str](), list[str]()

    def next_job() -> Job | None:
        stage = next_stage(stages, started, finished)
        if stage is None:
            return None
        started.add(stage.name)
        print_progress(f"{stage.name}: jostle {shlex.join(stage.job.command()[3:])}")
        return stage.job

    def on_end(result: JobResult) -> None:
        if result.outcome == "finished":
            finished.add(result.job.name)
            print_progress(result.describe())
        else:
            failed.append(result.describe())

    with stops_on_sigterm(), _bar_of(stages):
        make_executor(config.ray, config.jobs).run(next_job, on_end)
    return failed


@contextmanager
def _bar_of(stages: "Sequence[Stage]") -> Iterator[None]:
    """A bar over the stages, which follows their metrics while they run."""
    over = threading.Event()
    trained = [stage for stage in stages if stage.total]
    with progress_bar(len(trained), "stage") as bar:

        def follow() -> None:
            while not over.wait(_POLL_SECONDS):
                done = {stage.name: stage.progress() for stage in trained}
                bar.set_postfix(
                    {name: f"{x:.0%}" for name, x in done.items() if 0 < x < 1}, refresh=False
                )
                bar.n = round(sum(done.values()), 2)
                bar.refresh()

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _compare(name: str, folder: Path, config: ReproduceConfig) -> None:
    """Evaluate the new agent on the episodes of the zoo's, and write both beside each other."""
    from jostle.cli.eval_jobs import EvalJob, evaluate_with_bar  # MuJoCo, which help does without
    from jostle.evaluation.scores import read_scores
    from jostle.zoo.agents import own_task
    from jostle.zoo.registry import find_entry

    stored = list(read_scores(find_entry(name).weights.with_suffix(".json")).values())[:1]
    task = own_task(name)
    assert task is not None
    asked: dict[str, Any] = {"requested_objects": task[1], "colors": "fixed"}
    asked |= stored[0] if stored else {}
    objects, colors = asked["requested_objects"], asked["colors"]
    job = EvalJob(
        agent=str(folder),
        task=task[0],
        episodes=config.episodes,
        num_envs=min(48, config.episodes),
        objects=tuple(objects) if isinstance(objects, list) else objects,
        colors=tuple(colors) if isinstance(colors, list) else colors,
    )
    rows = [*stored, evaluate_with_bar(job).summary()]
    table = evaluation_table(rows)
    path = config.out / f"{name}-{config.seed}.md"
    write_text(path, f"# {name}: the zoo's, and trained again with seed {config.seed}\n\n{table}")
    print(f"\n{table}\nwritten: {path}")


def _table(stages: "Sequence[Stage]") -> str:
    """Stages with their commands and how far they are."""
    lines = [
        (
            str(number), stage.name, ", ".join(stage.needs),
            "done" if stage.done else f"{stage.progress():.0%}",
            f"`jostle {shlex.join(stage.job.start)}`",
        )
        for number, stage in enumerate(stages, 1)
    ]  # fmt: skip
    return markdown_table(("", "stage", "needs", "done", "command"), lines)
