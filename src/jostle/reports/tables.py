"""Results as Markdown tables."""

from collections.abc import Sequence
from typing import Any


def evaluation_table(rows: Sequence[dict[str, Any]]) -> str:
    """Table of evaluation summaries."""
    header = (
        "task", "objects", "agent", "episodes", "steps", "success [95 % interval]",
        "success fraction", "average distance", "maximum distance", "average return", "fell off",
    )  # fmt: skip
    lines = [
        (
            task_title(row), row["objects"], row["agent"], row["episodes"], row["steps"],
            _success(row), f"{row['success_fraction']:.3f}", f"{row['average_distance']:.4f}",
            f"{row['maximum_distance']:.4f}", f"{row['average_return']:.3f}",
            f"{row['fallen']:.3f}",
        )
        for row in rows
    ]  # fmt: skip
    return markdown_table(header, lines)


def study_table(rows: Sequence[dict[str, Any]]) -> str:
    """Table of evaluation summaries beside the paper's results."""
    header = (
        "agent", "task", "objects", "success [95 % interval]", "paper", "target",
        "success fraction", "average distance", "maximum distance", "average return",
        "median distance", "fell off", "episodes", "episode set",
    )  # fmt: skip
    lines: list[tuple[Any, ...]] = []
    for row in rows:
        task = task_title(row)
        if row.get("pending"):  # not trained yet
            objects = row["objects"] if row["objects"] is not None else ""
            lines.append((
                row["agent"], task, objects, "queued", row["paper"], row["target"],
                *[""] * (len(header) - 6),
            ))  # fmt: skip
        else:
            lines.append((
                row["agent"], task, row["objects"], _success(row), row["paper"], row["target"],
                f"{row['success_fraction']:.3f}", f"{row['average_distance']:.4f}",
                f"{row['maximum_distance']:.4f}", f"{row['average_return']:.3f}",
                _optional(row.get("median_distance")), f"{row['fallen']:.3f}", row["episodes"],
                row["episode_set"],
            ))  # fmt: skip
    return markdown_table(header, lines)


def training_list(rows: Sequence[dict[str, Any]]) -> str:
    """List how each agent of a study was trained, or the training it is queued as."""
    trained: dict[str, str] = {}
    for row in rows:
        how = f"queued as `{row['queued']}`" if row.get("pending") else row["trained"]
        trained.setdefault(row["agent"], how)
    return "".join(f"- `{agent}`: {how}\n" for agent, how in trained.items())


def markdown_table(header: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    """A table in Markdown."""
    rule = "|" + "---|" * len(header)
    rows = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in (header, *lines)]
    return "\n".join((rows[0], rule, *rows[1:])) + "\n"


def task_title(row: dict[str, Any]) -> str:
    """Name of the task, and what differs from it."""
    colors = "random colors" if row.get("colors") == "random" else ""
    changes = [change for change in (colors, row.get("vary")) if change]
    return row["task"] + (f" ({', '.join(changes)})" if changes else "")


def _success(row: dict[str, Any]) -> str:
    return f"{row['success']:.3f} [{row['success_low']:.3f}, {row['success_high']:.3f}]"


def _optional(distance: float | None) -> str:
    return "" if distance is None else f"{distance:.4f}"
