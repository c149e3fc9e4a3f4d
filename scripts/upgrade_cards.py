"""Renames in model cards and score files: used by upgrade_format.py."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from old_presets import new_preset

Names = dict[str, Any]
_PROSE = {
    "; other than the preset's: ": "; changed fields: ",
    "Scored by `jostle": "Evaluated with `jostle",
    ", chosen by ": ", chosen on ",
    "scenes of episodes kept apart": "scenes of held-out episodes",
    "Loss and pixels are those of the training, on frames it never learnt from.": (
        "Losses are those of the training objective on held-out frames."
    ),
    "Probes are those of": "Probe metrics are those of",
    "tells what they mean and how the folders are collected": (
        "defines them and says how the folders are collected"
    ),
}
"""Old and new wording of cards."""


_TIMES = {"drawing": "rendering", "the rest": "other"}
"""Old and new parts of the time of a training."""


def digest(weights: Path) -> str:
    """Content hash of a weights file, as in score files."""
    return hashlib.sha256(weights.read_bytes()).hexdigest()[:12]


def upgrade_card(text: str, names: Names) -> str:
    """Rewrite a model card."""
    for old, new in _PROSE.items():
        text = text.replace(old, new)
    lines = [_upgrade_line(line, names) for line in text.splitlines()]
    lines[0] = re.sub(r"(?<=# )[\w-]+", lambda match: _model(match[0], names), lines[0])
    page = "\n".join(lines) + "\n"
    page = re.sub(r"(?<=jostle evaluate )[\w-]+", lambda match: _model(match[0], names), page)
    return re.sub(r"(?<=\]\()[\w-]+(?=\.png\))", lambda match: _model(match[0], names), page)


def upgrade_scores(path: Path, new_digests: dict[str, str], names: Names) -> str:
    """Rewrite a score file; `new_digests` of weights are by name of the model and by old digest."""
    content = json.loads(path.read_text())
    rows = []
    for old in content["rows"]:
        row = {names["metrics"].get(key, key): value for key, value in old.items()}
        weights = new_digests.get(row["weights"], new_digests.get(row["agent"], row["weights"]))
        row["weights"] = weights
        row["agent"] = _model(row["agent"], names)
        if "trained" in row:
            row["trained"] = _upgrade_history(row["trained"], names)
        rows.append(row)
    return json.dumps({**content, "rows": rows}, indent=1) + "\n"


def _upgrade_line(line: str, names: Names) -> str:
    """Rewrite a row of a card's table; other lines stay."""
    row = re.fullmatch(r"\| ([^|]+) \| (.*) \|", line)
    if row is None:
        return line
    label, value = row.groups()
    if label == "trained with":
        value = _upgrade_command(value, names)
    elif label == "history":
        value = _upgrade_history(value, names)
    elif label == "lane":
        value = ", then ".join(_method(method, names) for method in value.split(", then "))
    elif label == "where the time went":
        value = ", ".join(_upgrade_time(part) for part in value.split(", "))
    return f"| {names['cards'].get(label, label)} | {value} |"


def _upgrade_command(text: str, names: Names) -> str:
    """Rewrite the command of a training, and the fields in which it differs from its preset."""
    command, mark, differences = text.partition("; changed fields: ")
    kind = re.match(r"`jostle pretrain (\w+)", command)
    if kind is None:
        command = re.sub(
            r"(?<=`jostle train )[\w-]+", lambda match: new_preset(match[0])[1], command
        )
        renames = names["experiment"]
    else:
        fields = names["encoder"].get(kind[1], {})
        renames = {f"model.{old}": f"model.{new}" for old, new in fields.items()}
        renames |= names["pretraining"]
    parts = [_upgrade_difference(part, renames, names) for part in differences.split("; ")]
    return command + mark + "; ".join(part for part in parts if part)


def _upgrade_difference(part: str, renames: dict[str, str], names: Names) -> str:
    """Rewrite `path: old there, new here`; empty if the field was dropped."""
    path, mark, values = part.partition(": ")
    for old, new in names["experiment_values"].items():
        field, _, value = old.partition(" = ")
        if field == path:
            values = re.sub(rf"(?<![\w<-]){re.escape(value)}(?![\w>-])", f"<{new}>", values)
    values = re.sub(r"<([\w-]+)>", r"\1", values)  # marked, so that no value is replaced twice
    values = re.sub(r"(?<=')[\w-]+(?=')", lambda match: _model(match[0], names), values)
    new_path = renames.get(path, path)
    return new_path + mark + values if new_path else ""


def _upgrade_history(text: str, names: Names) -> str:
    """Rewrite the training stages of an agent, unless that was done before."""
    if "(lane " not in text:
        return text
    text = re.sub(r"\(lane ([\w-]+)", lambda match: f"(method {_method(match[1], names)}", text)
    return re.sub(r"(?<=`)[\w-]+(?=` \(method)", lambda match: new_preset(match[0])[0], text)


def _upgrade_time(text: str) -> str:
    """Rewrite a part of the time, such as `drawing 11 %`."""
    part, share, sign = text.rsplit(" ", 2)
    return f"{_TIMES.get(part, part)} {share} {sign}"


def _method(old: str, names: Names) -> str:
    new: str = names["experiment_values"].get(f"training.lane = {old}", old)
    return "td3 fine-tuning" if old == "fine-tuning" else new


def _model(old: str, names: Names) -> str:
    new: str = {**names["zoo"], **names["studies"]}.get(old, old)
    return new
