"""`jostle table RECIPE`: all results of a study in one table, beside the paper's."""

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from jostle.cli.examining import Sitting, examine_with_bar, write_results
from jostle.core.errors import BadValueError
from jostle.evaluation.examine import Examination
from jostle.evaluation.scores import digest, key, read_scores, write_scores
from jostle.oracles.catalog import SCRIPTED
from jostle.reports import angles, scaling
from jostle.reports.tables import study, trainings
from jostle.zoo.agents import file_for, history_of
from jostle.zoo.shelf import agents, chapters

Lines = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a study."""

    agent: str
    """Who: oracle, a name of the zoo, a run's folder or a file of weights."""
    task: str
    """Where."""
    objects: int | None = None
    """How many objects; the task's own number by default."""
    colors: str = "fixed"
    """Colors of the objects: fixed, or random."""
    episodes: int | None = None
    """How many episodes; those of the command by default."""
    paper: str = ""
    """What the paper reports."""
    target: str = ""
    """What we want."""
    queued: str = ""
    """The preset that will make the agent; without it, an unknown agent is an error."""


@dataclass(frozen=True, kw_only=True)
class TableConfig:
    """Examine agents on fixed episodes as a recipe says, and lay the results out."""

    recipe: Annotated[Path, tyro.conf.Positional]
    """A .toml file with a title, [[row]] entries, and perhaps notes to stand below the table."""
    episodes: int = 400
    """Episodes per row: seeds 0, 1, 2, ..."""
    copies: int = 100
    """Episodes played at once."""
    out: Path | None = None
    """Write OUT.md, OUT.json with the scores, and OUT.jsonl with one line per episode played."""
    runs: Path | None = None
    """Folder in which agents of the recipe are found that are not in the zoo: runs, or files of
    weights, of their names. Their rows are remembered when the folder is gone."""
    afresh: bool = False
    """Play every row, also those that OUT.json or the zoo's cards have for the same weights."""


def run(argv: list[str]) -> None:
    """Examine every row, print the table, write it if asked."""
    config = tyro.cli(TableConfig, prog="jostle table", args=argv)
    title, notes, rows = read_recipe(config.recipe)
    store = config.out.with_suffix(".json") if config.out is not None else None
    stored = {} if store is None or config.afresh else read_scores(store)
    known = {} if config.afresh else _on_cards() | stored
    lines: Lines = []
    played: list[Examination] = []
    for row in rows:
        word = _word(row.agent, config.runs)
        if row.queued and not _is_there(word):
            lines.append(_remembered(row, stored.values()) or {**vars(row), "waits": True})
            continue
        episodes = row.episodes or config.episodes
        line = _named(row, word, episodes)
        if key(line) in known:
            scores = known[key(line)]
        else:
            found = examine_with_bar(
                Sitting(
                    agent=word,
                    task=row.task,
                    objects=row.objects,
                    episodes=episodes,
                    copies=config.copies,
                    colors=row.colors,
                )
            )
            played.append(found)
            scores = found.summary()
        trained = "script" if word in SCRIPTED else chapters(history_of(word))
        given = {"paper": row.paper, "target": row.target, "trained": trained}
        lines.append({**scores, **line, **given})
        if store is not None:  # row by row: a table takes long, and nothing may be lost
            stored[key(line)] = lines[-1]
            write_scores(store, stored.values())
    text = f"# {title}\n\nMade by `jostle table {' '.join(argv)}`.\n\n{study(lines)}"
    text += f"\nHow each agent was trained:\n\n{trainings(lines)}"
    picture = "average return against the number of cubes"
    text += _told(scaling.told, scaling.draw_scaling, lines, config.out, "by-cubes", picture)
    picture = "errors of headings"
    text += _told(angles.told, angles.draw_angles, lines, config.out, "angles", picture)
    text += f"\n{notes.strip()}\n" if notes else ""
    print(text)
    if config.out is not None:
        if store is not None:
            write_scores(store, [line for line in lines if not line.get("waits")])
        write_results(config.out, text, played)


def _told(
    tell: Callable[[Lines], str],
    draw: Callable[[Lines, Path], Any],
    lines: Lines,
    out: Path | None,
    suffix: str,
    title: str,
) -> str:
    """What there is to say about all rows at once, with a picture beside OUT.md."""
    text = tell(lines)
    if not text:
        return ""
    if out is None:
        return f"\n{text}\n"
    picture = out.parent / "curves" / f"{out.name}-{suffix}.png"
    try:
        draw(lines, picture)
    except ImportError:  # the picture is a nicety
        return f"\n{text}\n"
    return f"\n{text}\n\n![{title}](curves/{picture.name})\n"


def _on_cards() -> dict[tuple[Any, ...], dict[str, Any]]:
    """Scores that the zoo's weights came onto the shelf with."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in agents().values():
        found |= read_scores(entry.weights.with_suffix(".json"))
    return found


def _word(agent: str, runs: Path | None) -> str:
    """Where an agent is: in the folder of runs, as a run or as a file, or where its name says."""
    if runs is not None and agent not in SCRIPTED and agent not in agents():
        for path in (runs / agent, runs / f"{agent}.safetensors"):
            if path.exists():
                return str(path)
    return agent


def _is_there(word: str) -> bool:
    return word in SCRIPTED or word in agents() or Path(word).exists()


def _remembered(row: Row, stored: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Scores of an agent that has been here once and whose weights were not kept."""
    wanted = (row.agent, row.task, row.objects, row.colors)
    for line in stored:
        if (line["agent"], line["task"], line["wanted_objects"], line["colors"]) == wanted:
            return {**line, "paper": row.paper, "target": row.target}
    return None


def _named(row: Row, word: str, episodes: int) -> dict[str, Any]:
    """What tells this measurement from others."""
    who = f"script {word}" if word in SCRIPTED else digest(file_for(word))
    return {
        "agent": row.agent,
        "weights": who,
        "task": row.task,
        "wanted_objects": row.objects,
        "colors": row.colors,
        "episodes": episodes,
    }


def read_recipe(path: Path) -> tuple[str, str, list[Row]]:
    """Read title, notes and rows."""
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text())
        rows = [Row(**row) for row in found["row"]]
        return found["title"], found.get("notes", ""), rows
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise BadValueError(f"{path} is no recipe of a table: {error}.") from error
