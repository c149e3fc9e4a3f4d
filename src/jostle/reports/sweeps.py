"""Tables of sweeps: how much each setting of one training learns, and how fast."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median, variance
from typing import Any

import numpy as np

from jostle.core.log_keys import training_success
from jostle.evaluation.statistics import t_quantile
from jostle.reports.learning_curves import Rows
from jostle.reports.seeds import mean_text
from jostle.reports.tables import markdown_table

LEVEL = 0.9
"""Success whose time of arrival is in the table."""
_HEADER = (
    "setting", "seeds", "success at the end [95 % interval over seeds]", "of each seed",
    "difference from the first [95 %]", "mean over the training",
    f"environment steps to {LEVEL:g}", f"minutes to {LEVEL:g}", "updates",
)  # fmt: skip


def sweep_table(groups: Mapping[str, Sequence[Rows]]) -> str:
    """One row per setting, with the evaluations of each seed; seeds without any are counted."""
    ends = {name: [_success(rows)[-1] for rows in runs if rows] for name, runs in groups.items()}
    first = next(iter(ends.values()), [])
    lines = []
    for name, runs in groups.items():
        known = [rows for rows in runs if rows]
        seeds = f"{len(known)}" if len(known) == len(runs) else f"{len(known)} of {len(runs)}"
        cells: list[Any] = [""] * (len(_HEADER) - 2)
        if known:
            own = ends[name]
            cells = [
                mean_text(own),
                " ".join(f"{value:.3f}" for value in own),
                "" if own is first else difference_text(own, first),
                f"{fmean(mean_over_training(rows) for rows in known):.3f}",
                *_arrivals(known),
                f"{fmean(rows[-1]['updates'] for rows in known):,.0f}",
            ]
        lines.append((name, seeds, *cells))
    return markdown_table(_HEADER, lines)


def difference_text(values: Sequence[float], others: Sequence[float]) -> str:
    """Difference of means, with the 95 % interval of Student's t for equal variances."""
    difference = fmean(values) - fmean(others)
    freedom = len(values) + len(others) - 2
    if min(len(values), len(others)) < 2:
        return f"{difference:+.3f}"
    squares = variance(values) * (len(values) - 1) + variance(others) * (len(others) - 1)
    error = (squares / freedom * (1 / len(values) + 1 / len(others))) ** 0.5
    half = t_quantile(freedom) * error
    return f"{difference:+.3f} [{difference - half:+.3f}, {difference + half:+.3f}]"


def mean_over_training(rows: Rows) -> float:
    """Area under the learning curve over environment steps, as a fraction of all that could be.

    Before the first evaluation, success rises from 0 as long as evaluations lie apart; before that,
    in the stages of a curriculum, it counts as 0.
    """
    steps = np.array([row["env_steps"] for row in rows], np.float64)
    start = max(2 * steps[0] - steps[1], 0.0) if len(steps) > 1 else 0.0
    x, y = np.r_[start, steps], np.r_[0.0, _success(rows)]
    return float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum() / steps[-1])


def arrival(level: float, rows: Rows) -> tuple[float, float] | None:
    """Environment steps and seconds at the first evaluation with this success; None if none has."""
    successes = zip(rows, _success(rows), strict=True)
    found = (row for row, success in successes if success >= level)
    return next(((row["env_steps"], row["seconds"]) for row in found), None)


def _arrivals(runs: Sequence[Rows]) -> tuple[str, str]:
    """Medians of the steps and minutes to `LEVEL` of the seeds that arrive, and how many do."""
    arrived = [times for rows in runs if (times := arrival(LEVEL, rows)) is not None]
    if not arrived:
        return "none arrives", ""
    some = "" if len(arrived) == len(runs) else f" ({len(arrived)} of {len(runs)})"
    steps, seconds = zip(*arrived, strict=True)
    return f"{median(steps):,.0f}{some}", f"{median(seconds) / 60:.1f}"


def _success(rows: Rows) -> list[float]:
    """Success of the evaluations, by truth or by images."""
    return [success for row in rows if (success := training_success(row)) is not None]
