"""Registry of models, those of the package and the user's own, each with a model card."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.zoo.folders import WEIGHTS_DIR as WEIGHTS_DIR
from jostle.zoo.folders import is_package_zoo, user_zoo

_ALONE = ("td3", "td3-privileged")
"""Methods without a teacher."""
_BESIDE = ("-critics", "-encoder")
"""How the names of second files of agents end."""


@dataclass(frozen=True)
class ModelEntry:
    """One model: a file of weights and its card."""

    name: str
    """Name of the model."""
    weights: Path
    """The safetensors file."""
    card: Path
    """The model card: what the model is, how it was trained, how it scores."""

    @property
    def source(self) -> str:
        """Which zoo the model is in: package or user."""
        return "package" if is_package_zoo(self.weights.parent) else "user"

    def headline(self) -> str:
        """Title of the card, without markup."""
        if not self.card.is_file():
            return f"{self.name}: no card"
        return self.card.read_text().splitlines()[0].lstrip("# ")

    @property
    def encoder(self) -> str | None:
        """Kind of encoder that the weights are; None for agents, which may hold an encoder too."""
        meta = read_meta(self.weights)
        return None if "experiment" in meta else meta.get("encoder", {}).get("kind")

    def size(self) -> int:
        """Size of the weights in bytes."""
        return self.weights.stat().st_size


def registry(folder: Path | None = None) -> dict[str, ModelEntry]:
    """All models by name: those of a folder, by default those of the package and the user."""
    if folder is None:
        return {**registry(user_zoo()), **registry(WEIGHTS_DIR)}
    files = [
        file for file in sorted(folder.glob("*.safetensors")) if not file.stem.endswith(_BESIDE)
    ]
    return {file.stem: ModelEntry(file.stem, file, file.with_suffix(".md")) for file in files}


def agents(folder: Path | None = None) -> dict[str, ModelEntry]:
    """All agents, by name."""
    return {name: entry for name, entry in registry(folder).items() if entry.encoder is None}


def encoders(folder: Path | None = None) -> dict[str, ModelEntry]:
    """All encoders, by name."""
    return {name: entry for name, entry in registry(folder).items() if entry.encoder is not None}


def resolve_name(name: str, folder: Path | None = None) -> str:
    """Name of the default agent of `task-obs`; other names stay as they are."""
    index = (folder or WEIGHTS_DIR) / "index.json"
    defaults: dict[str, str] = json.loads(index.read_text()) if index.is_file() else {}
    return defaults.get(name, name)


def find_entry(name: str, folder: Path | None = None) -> ModelEntry:
    """Find a model by name; the error for an unknown one suggests the closest name."""
    models, name = registry(folder), resolve_name(name, folder)
    if name not in models:
        raise UnknownNameError(f"The zoo has no '{name}'. {suggest(name, list(models))}")
    return models[name]


def find_own(name: str, zoo: Path | None = None) -> ModelEntry:
    """Find a model that may be changed: one of the user's own, or of the folder `zoo`."""
    entry = find_entry(name, zoo)
    require(
        zoo is not None or entry.source == "user",
        f"'{entry.name}' comes with the package, which is not changed: name a model of your own "
        f"(maintainers: --zoo {_shown()}).",
    )
    return entry


def check_new_name(name: str, zoo: Path) -> None:
    """Refuse names that a model in the folder `zoo` cannot have."""
    require(
        re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name) is not None,
        f"'{name}' is no name for a model: use up to 64 letters, digits, '-' and '_', with a "
        "letter or digit first.",
    )
    require(
        not name.endswith(_BESIDE),
        f"'{name}' is no name for a model: files that end in {' or '.join(_BESIDE)} belong to the "
        "agent beside them.",
    )
    from jostle.oracles.catalog import SCRIPTED  # needs MuJoCo, a list of models does not

    require(name not in SCRIPTED, f"'{name}' is a scripted policy: choose another name.")
    known = name in registry(WEIGHTS_DIR) or resolve_name(name) != name
    if known and not is_package_zoo(zoo):
        raise BadValueError(
            f"The package has a model called '{name}', which one in {zoo} would hide: choose "
            f"another name (maintainers replace the package's model with --zoo {_shown()})."
        )


def _shown() -> str:
    """The folder of the package's zoo, relative to the present one where that is shorter."""
    try:
        return str(WEIGHTS_DIR.relative_to(Path.cwd()))
    except ValueError:
        return str(WEIGHTS_DIR)


def write_card(entry: ModelEntry, title: str, facts: dict[str, object], notes: str) -> None:
    """Write a model card: a title, a table of facts, and notes."""
    rows = "\n".join(f"| {key} | {_cell(value)} |" for key, value in facts.items())
    entry.card.write_text(f"# {title}\n\n| | |\n|---|---|\n{rows}\n\n{notes}\n")


def update_card(entry: ModelEntry, facts: dict[str, object]) -> None:
    """Set facts of an existing card: replace their rows, or append new ones to the table."""
    lines = entry.card.read_text().splitlines()
    for key, value in facts.items():
        row, head = f"| {key} | {_cell(value)} |", f"| {key} |"
        matches = [index for index, line in enumerate(lines) if line.startswith(head)]
        if matches:
            lines[matches[0]] = row
        else:
            last = max(index for index, line in enumerate(lines) if line.startswith("| "))
            lines.insert(last + 1, row)
    entry.card.write_text("\n".join(lines) + "\n")


def read_meta(weights: Path) -> dict[str, Any]:
    """Metadata in the header of a weights file, read without torch; empty if it is unreadable."""
    try:
        with weights.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        meta: dict[str, Any] = json.loads(header["__metadata__"]["meta"])
    except (OSError, ValueError, KeyError, MemoryError, OverflowError):
        return {}  # loading the file will raise an error that says what is wrong
    return meta


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def describe_methods(history: Sequence[dict[str, Any]]) -> str:
    """List the training methods of an agent's history in order, each once."""
    return ", then ".join(dict.fromkeys(stage["method"] for stage in history))


def learned_alone(history: Sequence[dict[str, Any]]) -> bool:
    """Whether no stage of an agent's history had a teacher or demonstrations."""
    return bool(history) and all(stage.get("method") in _ALONE for stage in history)


def describe_history(history: Sequence[dict[str, Any]]) -> str:
    """Describe the training stages of an agent in one table cell."""
    return ", then ".join(
        f"`{stage['recipe']}` (method {stage['method']}, seed {stage['seed']}"
        f"{', critics only' if stage.get('part') == 'critics' else ''}): "
        f"{stage['updates']:,} updates, {stage['minutes']:.0f} min"
        for stage in history
    )
