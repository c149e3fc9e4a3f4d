"""The shelf: weights that come with the package, each with a card that says what it is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.core.catalog import suggest
from jostle.core.errors import UnknownNameError

FOLDER = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class Entry:
    """One set of weights."""

    name: str
    """What to call it."""
    weights: Path
    """The safetensors file."""
    card: Path
    """What it is, how it was made, how it scores."""

    def headline(self) -> str:
        """First line of the card, without its mark-up."""
        return self.card.read_text().splitlines()[0].lstrip("# ")

    def size(self) -> int:
        """Bytes of the weights."""
        return self.weights.stat().st_size


def shelf(folder: Path = FOLDER) -> dict[str, Entry]:
    """Everything on the shelf, by name."""
    files = sorted(folder.glob("*.safetensors"))
    return {file.stem: Entry(file.stem, file, file.with_suffix(".md")) for file in files}


def find(name: str, folder: Path = FOLDER) -> Entry:
    """Find weights by name, or say which name was probably meant."""
    held = shelf(folder)
    if name not in held:
        raise UnknownNameError(f"The zoo has no '{name}'. {suggest(name, list(held))}")
    return held[name]


def write_card(entry: Entry, title: str, facts: dict[str, object], notes: str) -> None:
    """Write a card: a title, a table of facts, and what else is worth knowing."""
    rows = "\n".join(f"| {key} | {_cell(value)} |" for key, value in facts.items())
    entry.card.write_text(f"# {title}\n\n| | |\n|---|---|\n{rows}\n\n{notes}\n")


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def chapters(history: Sequence[dict[str, Any]]) -> str:
    """Say in a cell what trainings an agent went through."""
    return ", then ".join(
        f"`{one['preset']}` (lane {one['lane']}, seed {one['seed']}): {one['updates']:,} updates, "
        f"{one['minutes']:.0f} min"
        for one in history
    )
