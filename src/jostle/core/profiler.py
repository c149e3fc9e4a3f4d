"""A profiler: seconds by part of the work, each without the parts measured inside it."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

TIME_PREFIX = "time/"
"""Prefix of these seconds in a run's metrics."""


class Profiler(threading.local):
    """Adds up seconds; every thread has its own."""

    def __init__(self) -> None:
        """Start at zero."""
        self._seconds: dict[str, float] = {}
        self._inside = 0.0

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Measure a block of code as `part`, without parts measured inside it."""
        outer, self._inside = self._inside, 0.0
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self._seconds[part] = self._seconds.get(part, 0.0) + elapsed - self._inside
            self._inside = outer + elapsed

    def take(self) -> dict[str, float]:
        """Seconds by part since the last call."""
        taken, self._seconds = self._seconds, {}
        return taken


PROFILER = Profiler()
"""The profiler of this process."""


def time_shares(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Fractions of the time by part, from rows of a run's metrics; the largest first."""
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if name.startswith(TIME_PREFIX):
                part = name.removeprefix(TIME_PREFIX)
                total[part] = total.get(part, 0.0) + value
    seconds = sum(total.values()) or 1.0
    parts = sorted(total, key=lambda part: -total[part])
    return {part: total[part] / seconds for part in parts}


def time_summary(rows: Iterable[Mapping[str, Any]]) -> str:
    """The same in one line; empty if nothing was counted."""
    return ", ".join(f"{part} {100 * share:.0f} %" for part, share in time_shares(rows).items())
