"""Rows of numbers as Markdown."""

from collections.abc import Sequence
from typing import Any


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Lay out examination summaries as a Markdown table."""
    head = (
        "task", "objects", "agent", "episodes", "steps", "success [95 % interval]", "fraction",
        "average distance", "maximum distance", "average return", "fell off",
    )  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        success = f"{row['success']:.3f} [{row['success_low']:.3f}, {row['success_high']:.3f}]"
        cells = (
            row["task"], row["objects"], row["agent"], row["episodes"], row["steps"], success,
            f"{row['success_fraction']:.3f}", f"{row['average_distance']:.4f}",
            f"{row['maximum_distance']:.4f}", f"{row['average_return']:.3f}",
            f"{row['fallen']:.3f}",
        )  # fmt: skip
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def study(rows: Sequence[dict[str, Any]]) -> str:
    """Lay out examination summaries beside the paper's numbers."""
    head = (
        "agent", "task", "objects", "success [95 % interval]", "paper", "target", "fraction",
        "average distance", "median", "fell off", "episodes", "set",
    )  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        task = row["task"] + (" (random colors)" if row.get("colors") == "random" else "")
        if row.get("waits"):  # not trained yet: only what is known without playing
            objects = row["objects"] if row["objects"] is not None else ""
            cells: tuple[Any, ...] = (
                row["agent"], task, objects, "queued", row["paper"], row["target"],
                "", "", "", "", "", "",
            )  # fmt: skip
        else:
            success = f"{row['success']:.3f} [{row['success_low']:.3f}, {row['success_high']:.3f}]"
            cells = (
                row["agent"], task, row["objects"], success, row["paper"], row["target"],
                f"{row['success_fraction']:.3f}", f"{row['average_distance']:.4f}",
                _known(row.get("median_distance")), f"{row['fallen']:.3f}", row["episodes"],
                row["episode_set"],
            )  # fmt: skip
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def trainings(rows: Sequence[dict[str, Any]]) -> str:
    """List how each agent of a study was made, or by which preset it will be."""
    made: dict[str, str] = {}
    for row in rows:
        how = f"queued as `{row['queued']}`" if row.get("waits") else row["trained"]
        made.setdefault(row["agent"], how)
    return "".join(f"- `{agent}`: {how}\n" for agent, how in made.items())


def _known(distance: float | None) -> str:
    return "" if distance is None else f"{distance:.4f}"
