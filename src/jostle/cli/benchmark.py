"""`jostle benchmark STUDY`: all results of a study in one table, beside the paper's."""

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from jostle.cli.eval_jobs import EvalJob, write_results
from jostle.cli.scored_rows import Cache, cached_row, evaluated_row, zoo_scores
from jostle.core.checks import check_int, check_output
from jostle.core.errors import BadValueError, JostleError
from jostle.evaluation.evaluate import Evaluation
from jostle.evaluation.scores import cache_key, read_scores, write_scores
from jostle.oracles.catalog import SCRIPTED
from jostle.reports import scaling, yaw_errors
from jostle.reports.seeds import over_seeds
from jostle.reports.tables import study_table, training_list
from jostle.tasks.vary import parse_vary
from jostle.zoo.registry import agents, resolve_name

Results = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a study."""

    agent: str
    """Agent: oracle, random, a name of the zoo, a run directory or a weights file."""
    task: str
    """Task to evaluate on."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    colors: str = "fixed"
    """Colors of the objects: fixed, or random."""
    vary: str = ""
    """What differs from the task, as for `jostle evaluate --vary`: "mass=x20 light=0.7"."""
    episodes: int | None = None
    """Number of episodes; that of the command by default."""
    paper: str = ""
    """Result in the paper."""
    target: str = ""
    """Result aimed at."""
    training: str = ""
    """Name that rows of several seeds of one training share: the page has their mean as well."""
    queued: str = ""
    """Name of the training that will make the agent; without it, a missing agent is an error."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        parse_vary(self.vary)
        if self.episodes is not None:
            check_int("episodes", self.episodes, 1)


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig:
    """Evaluate the agents of a study on fixed episodes and write a table of the results."""

    study: Annotated[Path, tyro.conf.Positional]
    """A .toml file with a title, [[row]] entries, and optional notes below the table."""
    episodes: int = 400
    """Episodes per row: seeds 0, 1, 2, ..."""
    num_envs: int = 100
    """Environments that run in parallel."""
    out: Path | None = None
    """Write OUT.md, OUT.json with the results, and OUT.jsonl with one line per new episode."""
    runs: Path | None = None
    """Folder with the agents of the study that are not in the zoo: run directories or weights
    files of their names. Their results stay in OUT.json when the folder is gone."""
    cache: bool = True
    """Reuse results that OUT.json or the zoo has for the same weights; --no-cache evaluates all."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("episodes", self.episodes, 1)
        check_int("num_envs", self.num_envs, 1)


def run(argv: list[str]) -> None:
    """Evaluate every row, print the table, and write it with --out."""
    config = tyro.cli(BenchmarkConfig, prog="jostle benchmark", args=argv)
    title, notes, rows = read_study(config.study)
    if config.out is not None:
        check_output(config.out.with_suffix(".md"))
    cache_file = config.out.with_suffix(".json") if config.out is not None else None
    stored = read_scores(cache_file) if cache_file is not None and config.cache else {}
    cache = zoo_scores() | stored if config.cache else {}
    results: Results = []
    evaluations: list[Evaluation] = []
    jobs = [_job(row, config) for row in rows]
    for row, job in zip(rows, jobs, strict=True):
        if row.vary and _exists(job.agent):
            job.check()
    for row, job in zip(rows, jobs, strict=True):
        if row.queued and not _exists(job.agent):
            results.append(_stored_result(row, stored.values()) or {**vars(row), "pending": True})
            continue
        results.append(_result(row, job, cache, evaluations))
        if cache_file is not None:  # after each row: an interruption loses at most one
            stored[cache_key(results[-1])] = results[-1]
            write_scores(cache_file, stored.values())
    text = _page(title, notes, results, argv, config.out)
    print(text)
    if config.out is not None:
        if cache_file is not None:
            write_scores(cache_file, [row for row in results if not row.get("pending")])
        write_results(config.out, text, evaluations)
        print(f"written: {config.out.with_suffix('.md')}, {config.out.with_suffix('.jsonl')}")


def _job(row: Row, config: BenchmarkConfig) -> EvalJob:
    """The evaluation of one row."""
    return EvalJob(
        agent=_locate(row.agent, config.runs),
        task=row.task,
        objects=row.objects,
        episodes=row.episodes or config.episodes,
        num_envs=config.num_envs,
        colors=row.colors,
        vary=parse_vary(row.vary),
    )


def _result(row: Row, job: EvalJob, cache: Cache, evaluations: list[Evaluation]) -> dict[str, Any]:
    """Result of one row, from the cache if it is there; new evaluations are appended."""
    result = cached_row(job, row.agent, cache)
    if result is None:
        result, evaluation = evaluated_row(job, row.agent)
        evaluations.append(evaluation)
    return {**result, "paper": row.paper, "target": row.target, "training": row.training}


def _page(title: str, notes: str, results: Results, argv: list[str], out: Path | None) -> str:
    """The Markdown page: tables, plots and notes."""
    text = f"# {title}\n\nMade by `jostle benchmark {' '.join(argv)}`.\n\n"
    text += f"{over_seeds(results)}{study_table(results)}"
    text += f"\nHow each agent was trained:\n\n{training_list(results)}"
    results = [row for row in results if not row.get("vary")]  # plots are of the tasks themselves
    plot = "average return against the number of cubes"
    text += _section(scaling.describe, scaling.plot_scaling, results, out, "by-cubes", plot)
    plot = "yaw errors"
    text += _section(
        yaw_errors.describe, yaw_errors.plot_yaw_errors, results, out, "yaw-errors", plot
    )
    return text + (f"\n{notes.strip()}\n" if notes else "")


def _section(
    describe: Callable[[Results], str],
    plot: Callable[[Results, Path], Any],
    results: Results,
    out: Path | None,
    suffix: str,
    title: str,
) -> str:
    """Text about all rows together, with a plot in the folder `curves` beside OUT.md."""
    text = describe(results)
    if not text:
        return ""
    if out is None:
        return f"\n{text}\n"
    image = out.parent / "curves" / f"{out.name}-{suffix}.png"
    try:
        plot(results, image)
    except ImportError:  # the page is complete without the plot
        return f"\n{text}\n"
    return f"\n{text}\n\n![{title}](curves/{image.name})\n"


def _locate(agent: str, runs: Path | None) -> str:
    """Path of an agent in the folder of runs, if it is neither scripted nor in the zoo."""
    if runs is not None and agent not in SCRIPTED and resolve_name(agent) not in agents():
        for path in (runs / agent, runs / f"{agent}.safetensors"):
            if path.exists():
                return str(path)
    return agent


def _exists(agent: str) -> bool:
    return agent in SCRIPTED or resolve_name(agent) in agents() or Path(agent).exists()


def _stored_result(row: Row, stored: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Earlier result of an agent whose weights are gone."""
    wanted = (row.agent, row.task, row.objects, row.colors, str(parse_vary(row.vary)))
    for result in stored:
        name, task = result["agent"], result["task"]
        vary = result.get("vary", "")
        if (name, task, result["requested_objects"], result["colors"], vary) == wanted:
            return {**result, "paper": row.paper, "target": row.target, "training": row.training}
    return None


def read_study(path: Path) -> tuple[str, str, list[Row]]:
    """Read title, notes and rows of a study."""
    try:
        study: dict[str, Any] = tomllib.loads(path.read_text())
        rows = [Row(**row) for row in study["row"]]
        return study["title"], study.get("notes", ""), rows
    except JostleError as error:
        raise BadValueError(f"{path}: {error}") from error
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise BadValueError(f"{path} is not a study: {error}.") from error
