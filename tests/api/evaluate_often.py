"""Evaluate in new pixel environments again and again; write the resident memory in MiB each time.

python tests/api/evaluate_often.py COUNT
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import jostle
from jostle.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Short(Task):
    """Episodes of three steps."""

    def evaluation_steps(self, count: int) -> int:
        return 3


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    jostle.register_task(Short(name="Short", summary="Three steps", objects=1))
    for number in range(int(sys.argv[1])):
        jostle.evaluate(
            "random",
            "Short",
            episodes=2,
            seed=number,
            num_envs=2,
            obs_type="pixels",
            image_size=64,
            threads=2,
        )
        sys.stdout.write(f"{resident_mib():.1f}\n")
