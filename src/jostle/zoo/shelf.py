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

    @property
    def encoder(self) -> str | None:
        """Which kind of encoder the weights are; none, if they are an agent."""
        return meta_of(self.weights).get("encoder", {}).get("kind")

    def size(self) -> int:
        """Bytes of the weights."""
        return self.weights.stat().st_size


def shelf(folder: Path = FOLDER) -> dict[str, Entry]:
    """Everything on the shelf, by name."""
    files = sorted(folder.glob("*.safetensors"))
    return {file.stem: Entry(file.stem, file, file.with_suffix(".md")) for file in files}


def agents(folder: Path = FOLDER) -> dict[str, Entry]:
    """What can act, by name."""
    return {name: entry for name, entry in shelf(folder).items() if entry.encoder is None}


def encoders(folder: Path = FOLDER) -> dict[str, Entry]:
    """What can only see, by name."""
    return {name: entry for name, entry in shelf(folder).items() if entry.encoder is not None}


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


def amend_card(entry: Entry, facts: dict[str, object]) -> None:
    """Set facts of a card that is there already: in their rows, or in new ones behind the last."""
    lines = entry.card.read_text().splitlines()
    for key, value in facts.items():
        row, head = f"| {key} | {_cell(value)} |", f"| {key} |"
        places = [index for index, line in enumerate(lines) if line.startswith(head)]
        if places:
            lines[places[0]] = row
        else:
            last = max(index for index, line in enumerate(lines) if line.startswith("| "))
            lines.insert(last + 1, row)
    entry.card.write_text("\n".join(lines) + "\n")


def meta_of(weights: Path) -> dict[str, Any]:
    """What weights say about themselves, read from their first bytes and without torch."""
    try:
        with weights.open("rb") as opened:
            header = json.loads(opened.read(int.from_bytes(opened.read(8), "little")))
        found: dict[str, Any] = json.loads(header["__metadata__"]["meta"])
    except (OSError, ValueError, KeyError, MemoryError, OverflowError):
        return {}  # whoever loads it will hear what is wrong
    return found


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def lanes(history: Sequence[dict[str, Any]]) -> str:
    """Say which lanes an agent went through, each once."""
    return ", then ".join(dict.fromkeys(one["lane"] for one in history))


def chapters(history: Sequence[dict[str, Any]]) -> str:
    """Say in a cell what trainings an agent went through."""
    return ", then ".join(
        f"`{one['preset']}` (lane {one['lane']}, seed {one['seed']}): {one['updates']:,} updates, "
        f"{one['minutes']:.0f} min"
        for one in history
    )
