"""CPU time of this process and all that it has started, and of the rest of the machine (Linux)."""

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_IDLE_CORES = 0.05
"""Processes that use less than this are waiting."""


def own_seconds() -> float:
    """CPU seconds of this process and of all its descendants that live."""
    children: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        pid = int(path.parent.name)
        children.setdefault(int(words[1]), []).append(pid)
        seconds[pid] = (int(words[11]) + int(words[12])) / _TICKS
    total, left = 0.0, [os.getpid()]
    while left:
        pid = left.pop()
        total += seconds.get(pid, 0.0)
        left += children.get(pid, [])
    return total


def machine_seconds() -> float:
    """CPU seconds that all processes of the machine have used."""
    words = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, words)
    return (user + nice + system + irq + softirq + steal) / _TICKS


def settle(timeout: float = 10.0, interval: float = 0.3) -> None:
    """Wait until this process's descendants wait for something themselves."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        before = own_seconds()
        time.sleep(interval)
        if own_seconds() - before < _IDLE_CORES * interval + 1 / _TICKS:
            return


class Others:
    """How much of the machine other processes used since this was made."""

    def __init__(self) -> None:
        self._wall, self._own = time.monotonic(), own_seconds()
        self._machine = machine_seconds()

    def cores(self) -> float:
        """Cores that others used on average."""
        wall = time.monotonic() - self._wall
        used = machine_seconds() - self._machine - (own_seconds() - self._own)
        return max(0.0, used / wall)
