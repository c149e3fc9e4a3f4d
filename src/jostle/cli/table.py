"""`jostle table RECIPE`: all results of a study in one table, beside the paper's."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from jostle.cli.examining import examine_with_bar, write_results
from jostle.core.errors import BadValueError
from jostle.oracles.catalog import SCRIPTED
from jostle.reports.tables import study
from jostle.zoo.agents import history_of
from jostle.zoo.shelf import chapters


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
    paper: str = ""
    """What the paper reports."""
    target: str = ""
    """What we want."""


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
    """Write OUT.md, and OUT.jsonl with one line per episode."""


def run(argv: list[str]) -> None:
    """Examine every row, print the table, write it if asked."""
    config = tyro.cli(TableConfig, prog="jostle table", args=argv)
    title, notes, rows = read_recipe(config.recipe)
    found = [
        (row, examine_with_bar(row.agent, row.task, row.objects, config.episodes, 0, config.copies))
        for row in rows
    ]
    lines = [
        {
            **examination.summary(),
            "paper": row.paper,
            "target": row.target,
            "trained": "script" if row.agent in SCRIPTED else chapters(history_of(row.agent)),
        }
        for row, examination in found
    ]
    text = f"# {title}\n\nMade by `jostle table {' '.join(argv)}`.\n\n{study(lines)}"
    text += f"\n{notes.strip()}\n" if notes else ""
    print(text)
    if config.out is not None:
        write_results(config.out, text, [examination for _, examination in found])


def read_recipe(path: Path) -> tuple[str, str, list[Row]]:
    """Read title, notes and rows."""
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text())
        rows = [Row(**row) for row in found["row"]]
        return found["title"], found.get("notes", ""), rows
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise BadValueError(f"{path} is no recipe of a table: {error}.") from error
