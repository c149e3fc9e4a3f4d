"""Run Python as if some packages were not installed."""

import subprocess
import sys

_BLOCK = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def run_without(
    packages: tuple[str, ...], code: str, *words: str, **options
) -> subprocess.CompletedProcess:
    """Run code in a process of its own that cannot import `packages`."""
    script = _BLOCK.format(packages=packages) + code
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True, text=True, check=False, **options,
    )  # fmt: skip
