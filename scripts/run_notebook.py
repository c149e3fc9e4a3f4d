"""Runs the notebook of the documentation, and keeps its outputs small.

Usage: python scripts/run_notebook.py docs/tutorials/notebook.ipynb
"""

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

_KEPT = ("text/plain", "image/png", "image/gif")
"""Outputs that a page can show."""


def run_notebook(path: Path, folder: Path, timeout: int = 300) -> Any:
    """Run all cells in a folder; returns the notebook with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = {kind: output.data[kind] for kind in _KEPT if kind in output.data}
    return notebook


if __name__ == "__main__":
    target = Path(sys.argv[1])
    nbformat.write(run_notebook(target, target.parent), target)
