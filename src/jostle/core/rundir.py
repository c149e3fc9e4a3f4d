"""A run is a directory; this file alone knows the names in it."""

import json
import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from jostle.core.errors import BadValueError

_PACKAGES = ("jostle", "mujoco", "gymnasium", "numpy", "torch")


class RunDir:
    """Paths and small files of one run."""

    def __init__(self, path: Path) -> None:
        """Point at a run, new or old."""
        self.path = path

    @property
    def experiment(self) -> Path:
        """What was asked for, as JSON."""
        return self.path / "experiment.json"

    @property
    def metrics(self) -> Path:
        """One JSON line per round."""
        return self.path / "metrics.jsonl"

    @property
    def last(self) -> Path:
        """Everything needed to go on."""
        return self.path / "checkpoints" / "last.safetensors"

    @property
    def best(self) -> Path:
        """Weights of the best examination so far."""
        return self.path / "checkpoints" / "best.safetensors"

    @property
    def final(self) -> Path:
        """Weights of the last examination: steadier than the best of many short ones."""
        return self.path / "checkpoints" / "final.safetensors"

    def check_new(self) -> None:
        """Refuse a folder that holds a run already."""
        if self.experiment.exists():
            raise BadValueError(
                f"There is a run in {self.path} already. Go on with it by --resume {self.path}, "
                "or choose another folder."
            )

    @property
    def encoder(self) -> Path:
        """What an agent that learns from pixels sees with."""
        return self.path / "encoder.safetensors"

    def create(self, experiment: dict[str, Any]) -> None:
        """Start a new run; an existing one is never written over."""
        self.check_new()
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.experiment, experiment)
        write_json(self.path / "provenance.json", provenance())

    def write_history(self, history: list[dict[str, Any]]) -> None:
        """Keep what the weights went through before this run."""
        write_json(self.path / "history.json", history)

    def read_history(self) -> list[dict[str, Any]]:
        """What the weights went through before this run; nothing, if it began from scratch."""
        path = self.path / "history.json"
        found: list[dict[str, Any]] = json.loads(path.read_text()) if path.is_file() else []
        return found

    def read_experiment(self) -> dict[str, Any]:
        """Read what was asked for."""
        if not self.experiment.is_file():
            raise BadValueError(f"There is no run in {self.path}: {self.experiment} is missing.")
        found: dict[str, Any] = json.loads(self.experiment.read_text())
        return found

    def log(self, row: dict[str, Any]) -> None:
        """Append one line of metrics."""
        with self.metrics.open("a") as lines:
            lines.write(json.dumps(row) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """All lines of metrics."""
        text = self.metrics.read_text() if self.metrics.is_file() else ""
        return [json.loads(line) for line in text.splitlines()]

    def trim(self, last: int, key: str = "round") -> None:
        """Drop the lines whose `key` is beyond `last`: a resumed run writes them again."""
        if self.metrics.is_file():
            kept = [row for row in self.rows() if row[key] <= last]
            text = "".join(json.dumps(row) + "\n" for row in kept)
            fresh = self.metrics.with_suffix(".part")
            fresh.write_text(text)
            fresh.replace(self.metrics)


def write_json(path: Path, content: Any) -> None:
    """Write JSON at once or not at all."""
    fresh = path.with_name(f".{path.name}.part")
    fresh.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
    fresh.replace(path)


def provenance() -> dict[str, Any]:
    """Where and with what a run was started."""
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain")),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _git(*words: str) -> str:
    try:
        answer = subprocess.run(
            ["git", *words], capture_output=True, text=True, timeout=5, check=True,
            cwd=Path(__file__).parent,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
