"""The command line as a user types it."""

import os
import subprocess
import sys


def jostle(*words: str, cwd=None, **environment: str) -> subprocess.CompletedProcess:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "jostle", *words],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}, check=False,
    )  # fmt: skip
