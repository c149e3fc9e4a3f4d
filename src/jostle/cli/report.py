"""`jostle report`: every table and figure of the paper beside ours, on one page."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from jostle.core.checks import check_output
from jostle.core.errors import BadValueError, require
from jostle.core.files import write_text
from jostle.reports.paper_page import paper_page
from jostle.reports.stored import StoredRow, read_stored
from jostle.zoo.registry import WEIGHTS_DIR, describe_history, read_meta


@dataclass(frozen=True, kw_only=True)
class ReportConfig:
    """Write one self-contained HTML page from stored results; nothing is evaluated."""

    add: tuple[str, ...] = ()
    """Results of your own to lay beside: result files (.json of 'jostle benchmark' or 'jostle
    generalize'), run directories or weights files, whose last evaluation is shown."""
    results: Path = Path("docs/results")
    """Folder of stored results, of a clone of the repository; pictures are taken from there."""
    out: Path = Path("paper.html")
    """The page."""


def run(argv: list[str]) -> None:
    """Write the page and print where it is."""
    config = tyro.cli(ReportConfig, prog="jostle report", args=argv)
    check_output(config.out)
    require(
        config.results.is_dir(),
        f"There are no stored results in {config.results}: run this in a clone of the repository, "
        "or name the folder with --results.",
    )
    stored = collect_rows(config.results, config.add)
    root = config.results.resolve().parents[1]
    page = paper_page(stored, root, f"jostle report {' '.join(argv)}".strip())
    config.out.parent.mkdir(parents=True, exist_ok=True)
    write_text(config.out, page)
    print(f"page: {config.out} ({len(page) / 1e6:.1f} MB, {len(stored)} stored results)")


def collect_rows(results: Path, added: tuple[str, ...] = ()) -> list[StoredRow]:
    """Rows of a folder of results, of the zoo's cards, and those that are added."""
    files = [
        (path, f"docs/results/{path.name}")
        for path in sorted(results.glob("*.json"))
        if "rows" in json.loads(path.read_text())
    ]
    files += [(path, f"zoo card of {path.stem}") for path in sorted(WEIGHTS_DIR.glob("*.json"))
              if path.stem not in ("index", "checksums")]  # fmt: skip
    own = [StoredRow(_added_row(name), name, "--add") for name in added if _is_run(name)]
    files += [(Path(name), name) for name in added if not _is_run(name)]
    return [*own, *read_stored(files)]


def _is_run(name: str) -> bool:
    return Path(name).suffix != ".json"


def _added_row(name: str) -> dict[str, Any]:
    """The last evaluation that a run stored with its weights."""
    from jostle.zoo.agents import find_weights_file  # needs MuJoCo, stored results do not

    meta = read_meta(find_weights_file(name))
    if "score" not in meta:
        raise BadValueError(
            f"'{name}' has no evaluation stored with its weights: evaluate it with 'jostle "
            "benchmark' and add the .json, or train a little longer."
        )
    return {
        "colors": meta.get("experiment", {}).get("colors", "fixed"),
        **meta["score"],
        "agent": Path(name).name,
        "obs": "pixels" if "encoder" in meta else "state",
        "trained": describe_history(meta.get("history", [])),
    }
