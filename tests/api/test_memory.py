"""Memory stays flat over many evaluations in one process: each opens and closes its renderers."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "evaluate_often.py"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("count", "warmup"), [(15, 5), pytest.param(200, 20, marks=pytest.mark.slow)]
)
def test_memory_is_flat_over_evaluations(count, warmup):
    pytest.importorskip("torch")
    words = [sys.executable, str(SCRIPT), str(count)]
    answer = subprocess.run(words, capture_output=True, text=True, check=True)
    memory = [float(line) for line in answer.stdout.split()]
    assert len(memory) == count
    assert max(memory[warmup:]) <= 1.05 * memory[warmup - 1], memory
