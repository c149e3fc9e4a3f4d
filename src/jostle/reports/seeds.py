"""Means over the seeds of one training, with an interval over seeds."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from jostle.evaluation.statistics import t_quantile
from jostle.reports.aggregates import aggregate_table
from jostle.reports.tables import markdown_table, task_title

_METRICS = {
    "success": 3, "success_fraction": 3, "average_distance": 4, "maximum_distance": 4,
    "average_return": 3,
}  # fmt: skip
"""Decimal places of each metric of the paper."""


def over_seeds(results: Sequence[dict[str, Any]]) -> str:
    """A table with one row per training and task; empty if no row names its training.

    Rows that are not there yet are counted as missing, never left out in silence.
    """
    groups: dict[tuple[str, str, Any], list[dict[str, Any]]] = {}
    for row in results:
        if row.get("training"):
            objects = row.get("requested_objects", row["objects"])
            groups.setdefault((row["training"], task_title(row), objects), []).append(row)
    if not groups:
        return ""
    header = (
        "training", "task", "objects", "seeds", "success [95 % interval over seeds]",
        "of each seed", "paper", "target", "success fraction", "average distance",
        "maximum distance", "average return",
    )  # fmt: skip
    lines = [(training, task, *_cells(rows)) for (training, task, _), rows in groups.items()]
    means = f"Means over seeds:\n\n{markdown_table(header, lines)}\n"
    return f"{means}{aggregate_table(results)}Each agent:\n\n"


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and the 95 % interval of Student's t; infinitely wide for a single value."""
    mean = fmean(values)
    if len(values) < 2:
        return mean, float("-inf"), float("inf")
    half = t_quantile(len(values) - 1) * stdev(values) / len(values) ** 0.5
    return mean, mean - half, mean + half


def mean_text(successes: Sequence[float]) -> str:
    """Mean of success rates and, of several, its 95 % interval within [0, 1]."""
    mean, low, high = mean_interval(successes)
    interval = f" [{max(low, 0):.3f}, {min(high, 1):.3f}]" if len(successes) > 1 else ""
    return f"{mean:.3f}{interval}"


def _cells(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Cells of one training and task."""
    done = [row for row in rows if not row.get("pending")]
    seeds = f"{len(done)}" if len(done) == len(rows) else f"{len(done)} of {len(rows)}"
    if not done:
        return [str(rows[0]["objects"] or ""), seeds, "queued", "", *[""] * 6]
    success = [row["success"] for row in done]
    return [
        str(done[0]["objects"]), seeds, mean_text(success),
        " ".join(f"{value:.3f}" for value in success), rows[0]["paper"], rows[0]["target"],
        *(f"{fmean(row[name] for row in done):.{_METRICS[name]}f}" for name in list(_METRICS)[1:]),
    ]  # fmt: skip
