"""Memory stays flat over many evaluations in one process: each opens and closes its renderers."""

import subprocess
import sys
from pathlib import Path

import pytest

LEAK = 53
"""Mebibytes that a pixel environment held which was dropped without closing."""
SCRIPT = Path(__file__).parent / "evaluate_often.py"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_evaluations_do_not_keep_their_environments():
    """Ten environments would hold ten times as much; allocators still grow a little."""
    memory = memory_over_evaluations(15)
    assert max(memory[5:]) < memory[4] + LEAK, memory


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_flat_over_two_hundred_evaluations():
    memory = memory_over_evaluations(200)
    assert max(memory[20:]) <= 1.05 * memory[19], memory


def memory_over_evaluations(count: int) -> list[float]:
    """Resident memory in MiB after each of some evaluations in one process."""
    pytest.importorskip("torch")
    words = [sys.executable, str(SCRIPT), str(count)]
    answer = subprocess.run(words, capture_output=True, text=True, check=True)
    memory = [float(line) for line in answer.stdout.split()]
    assert len(memory) == count
    return memory
