"""Retained success: how much of its success an agent keeps under a change, with intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jostle.evaluation.grid import BREAKS, HOLDS, Cell

_MAX_NAMED = 4
"""Cells that the summary names of each kind."""


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """Result of a cell, or the reason why there is none."""

    cell: Cell
    """The cell."""
    row: dict[str, Any] | None = None
    """Its summary; None if it could not be evaluated, or was not yet."""
    reason: str = ""
    """Why there is no summary."""


@dataclass(frozen=True)
class Retained:
    """A ratio of two success rates with its 95 % interval."""

    ratio: float
    low: float
    high: float


def retained_success(row: dict[str, Any], base: dict[str, Any]) -> Retained | None:
    """Success of a row over that of the unchanged task; None if that is 0.

    The interval is made of the two Wilson intervals by the method of variance estimates recovery
    (Donner and Zou, 2012). It takes the episodes as independent: for factors that leave starts and
    goals as they are, it is a little too wide.
    """
    p, low, high = row["success"], row["success_low"], row["success_high"]
    q, base_low, base_high = base["success"], base["success_low"], base["success_high"]
    if q <= 0 or base_low <= 0:
        return None
    product = p * q

    def bound(mine: float, other: float, sign: int) -> float:
        square = product**2 - mine * other * (2 * p - mine) * (2 * q - other)
        return (product + sign * math.sqrt(max(square, 0.0))) / (other * (2 * q - other))

    return Retained(p / q, max(bound(low, base_high, -1), 0.0), bound(high, base_low, 1))


def worst(results: Sequence[CellResult]) -> CellResult | None:
    """The evaluated cell with the least success, other than the unchanged task."""
    evaluated = [result for result in results[1:] if result.row is not None]
    return min(evaluated, key=lambda result: result.row["success"], default=None)  # type: ignore[index]


def summarize(agent: str, results: Sequence[CellResult]) -> str:
    """One line: where the agent breaks, where it weakens, and what it holds."""
    base = results[0].row
    if base is None:
        return f"{agent}: its own task was not evaluated yet."
    own = f"{agent}: success {base['success']:.3f} on {base['task']}"
    ratios = [
        (result.cell.label, retained_success(result.row, base))
        for result in results[1:]
        if result.row is not None
    ]
    if any(retained is None for _, retained in ratios):
        return f"{own}: there is no success to keep."
    known = sorted(((label, r.ratio) for label, r in ratios if r is not None), key=lambda x: x[1])
    breaks = [item for item in known if item[1] < BREAKS]
    weak = [item for item in known if BREAKS <= item[1] < HOLDS]
    holds = [item for item in known if item[1] >= HOLDS]
    parts = [
        f"breaks at {_named(breaks)}" if breaks else "breaks nowhere on this grid",
        f"weakens at {_named(weak)}" if weak else "",
        f"holds ({HOLDS:.0%} or more of it) in {len(holds)} of {len(known)} cells",
    ]
    return f"{own}; {'; '.join(part for part in parts if part)}."


def _named(items: Sequence[tuple[str, float]]) -> str:
    names = ", ".join(f"{label} ({ratio:.0%})" for label, ratio in items[:_MAX_NAMED])
    return names + (f" and {len(items) - _MAX_NAMED} more" if len(items) > _MAX_NAMED else "")
