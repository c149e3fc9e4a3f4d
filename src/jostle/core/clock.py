"""Where the time of a run goes: seconds by part of the work, each without the parts inside it."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

SPENT = "spent_"
"""What the names of these seconds begin with in a run's metrics."""


class Clock(threading.local):
    """Adds up seconds; every thread has its own."""

    def __init__(self) -> None:
        """Start at zero."""
        self._seconds: dict[str, float] = {}
        self._inside = 0.0

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Count what happens inside as `part`, but for parts that are counted on their own."""
        outer, self._inside = self._inside, 0.0
        start = time.perf_counter()
        try:
            yield
        finally:
            whole = time.perf_counter() - start
            self._seconds[part] = self._seconds.get(part, 0.0) + whole - self._inside
            self._inside = outer + whole

    def take(self) -> dict[str, float]:
        """Seconds by part since this was last asked."""
        taken, self._seconds = self._seconds, {}
        return taken


CLOCK = Clock()
"""The clock of this process: whoever does a part of the work says so here."""


def shares(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """How the seconds of rounds (rows of a run's metrics) divide, the largest part first."""
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if name.startswith(SPENT):
                part = name.removeprefix(SPENT)
                total[part] = total.get(part, 0.0) + value
    whole = sum(total.values()) or 1.0
    parts = sorted(total, key=lambda part: -total[part])
    return {part: total[part] / whole for part in parts}


def time_told(rows: Iterable[Mapping[str, Any]]) -> str:
    """The same in one line; empty if nothing was counted."""
    return ", ".join(f"{part} {100 * share:.0f} %" for part, share in shares(rows).items())
