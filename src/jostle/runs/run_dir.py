"""A run is a directory; only this file knows the names in it."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from jostle.core.checks import check_output
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.core.file_format import FORMAT, UPGRADE
from jostle.core.files import write_json
from jostle.runs.lock import locked

C = TypeVar("C")
_PACKAGES = ("jostle", "mujoco", "gymnasium", "numpy", "torch")


class RunDir:
    """Paths and small files of one run."""

    read_only = False
    """Whether writing does nothing."""

    def __init__(self, path: Path) -> None:
        """Point at a run, new or old."""
        self.path = path

    @property
    def experiment(self) -> Path:
        """The config of the run, as JSON."""
        return self.path / "experiment.json"

    @property
    def metrics(self) -> Path:
        """One JSON line per logged iteration."""
        return self.path / "metrics.jsonl"

    @property
    def last(self) -> Path:
        """Everything needed to resume."""
        return self.path / "checkpoints" / "last.safetensors"

    @property
    def best(self) -> Path:
        """Weights of the best evaluation so far."""
        return self.path / "checkpoints" / "best.safetensors"

    @property
    def final(self) -> Path:
        """Weights of the last evaluation: steadier than the best of many short ones."""
        return self.path / "checkpoints" / "final.safetensors"

    @property
    def encoder(self) -> Path:
        """The encoder of a pixel agent."""
        return self.path / "encoder.safetensors"

    @property
    def object_classifier(self) -> Path:
        """Which particles show objects, in a training by images."""
        return self.path / "object-classifier.safetensors"

    def weights(self) -> Path:
        """The best weights; before the first evaluation, those of the last checkpoint."""
        for path in (self.best, self.last):
            if path.is_file():
                return path
        self.read_experiment()  # a folder without a run is named
        raise BadValueError(
            f"The run in {self.path} has no weights yet, because it stopped before its first "
            "checkpoint: resume it with --resume."
        )

    def stage(self, objects: int) -> "RunDir":
        """The run of a stage of a curriculum, by its number of objects."""
        return RunDir(self.path / "stages" / str(objects))

    def stages(self) -> list["RunDir"]:
        """The runs of the stages of a curriculum before the last one, which this run holds."""
        folders = (self.path / "stages").glob("*")
        return [RunDir(folder) for folder in sorted(folders, key=lambda path: int(path.name))]

    def lock(self) -> AbstractContextManager[None]:
        """Keep other processes from training this run."""
        return locked(self.path / ".lock")

    def check_new(self) -> None:
        """Refuse a folder that holds a run already, or that cannot be written."""
        check_output(self.path, folder=True)
        if self.experiment.exists():
            raise BadValueError(
                f"There is a run in {self.path} already. Resume it with --resume {self.path}, or "
                "choose another folder."
            )

    def create(self, experiment: dict[str, Any]) -> None:
        """Start a new run; an existing one is never overwritten."""
        self.check_new()
        self.path.mkdir(parents=True, exist_ok=True)
        self.write_experiment(experiment)
        write_json(self._provenance, provenance())

    def write_experiment(self, experiment: dict[str, Any]) -> None:
        """Write the config of the run."""
        write_json(self.experiment, experiment)

    def write_history(self, history: list[dict[str, Any]]) -> None:
        """Keep the trainings of the weights before this run."""
        write_json(self.path / "history.json", history)

    def read_history(self) -> list[dict[str, Any]]:
        """The trainings of the weights before this run; none if it started from scratch."""
        path = self.path / "history.json"
        history: list[dict[str, Any]] = read_json(path, list) if path.is_file() else []
        return history

    def read_experiment(self) -> dict[str, Any]:
        """Read the config of the run."""
        if not self.experiment.is_file():
            raise BadValueError(f"There is no run in {self.path}: {self.experiment} is missing.")
        if self._provenance.is_file() and self.read_provenance().get("format") != FORMAT:
            raise BadValueError(
                f"The run in {self.path} has an old format. Rewrite its weights by '{UPGRADE}', "
                "and start a new run from them (--from FILE)."
            )
        config: dict[str, Any] = read_json(self.experiment, dict)
        return config

    def load_config(self, parse: Callable[[dict[str, Any]], C]) -> C:
        """Read the config of the run as a record; errors in it name the file."""
        content = self.read_experiment()
        try:
            return parse(content)
        except (BadValueError, UnknownNameError) as error:
            raise BadValueError(f"{self.experiment} cannot be used. {error}") from error

    def read_provenance(self) -> dict[str, Any]:
        """Read where and with what the run was started."""
        content: dict[str, Any] = read_json(self._provenance, dict)
        return content

    def log(self, row: dict[str, Any]) -> None:
        """Append one line of metrics."""
        with self.metrics.open("a") as lines:
            lines.write(json.dumps(row) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """All lines of metrics; one that a kill has cut off is left out."""
        text = self.metrics.read_text() if self.metrics.is_file() else ""
        whole = text.rpartition("\n")[0]
        try:
            return [json.loads(line) for line in whole.splitlines()]
        except ValueError as error:
            raise BadValueError(f"{self.metrics} is damaged: {error}.") from error

    def trim(self, last: int, key: str) -> None:
        """Drop the lines whose `key` is beyond `last`: a resumed run writes them again."""
        if self.metrics.is_file():
            kept = [row for row in self.rows() if row[key] <= last]
            text = "".join(json.dumps(row) + "\n" for row in kept)
            part = self.metrics.with_suffix(".part")
            part.write_text(text)
            part.replace(self.metrics)

    def move_aside(self) -> list[str]:
        """Rename metrics and checkpoints, if there are any; returns their new names."""
        written = [self.metrics, self.best.parent, self.path / "tensorboard"]
        written = [path for path in written if path.exists()]
        number = 1
        while any(_numbered(path, number).exists() for path in written):
            number += 1
        return [path.rename(_numbered(path, number)).name for path in written]

    @property
    def _provenance(self) -> Path:
        return self.path / "provenance.json"


class ReadOnlyRunDir(RunDir):
    """A run that another process writes: writing to it does nothing."""

    read_only = True

    def lock(self) -> AbstractContextManager[None]:
        """Leave the lock to the other process."""
        return nullcontext()

    def check_new(self) -> None:
        """Leave the check to the other process."""

    def create(self, experiment: dict[str, Any]) -> None:
        """Write nothing."""

    def write_experiment(self, experiment: dict[str, Any]) -> None:
        """Write nothing."""

    def write_history(self, history: list[dict[str, Any]]) -> None:
        """Write nothing."""

    def log(self, row: dict[str, Any]) -> None:
        """Write nothing."""

    def trim(self, last: int, key: str) -> None:
        """Drop nothing."""


def _numbered(path: Path, number: int) -> Path:
    return path.with_stem(f"{path.stem}-{number}")


def critics_file(weights: Path) -> Path:
    """The file with critics and target networks that may lie beside an agent's weights."""
    return weights.with_stem(f"{weights.stem}-critics")


def encoder_file(weights: Path) -> Path:
    """The file with an agent's encoder that may lie beside its weights."""
    return weights.with_stem(f"{weights.stem}-encoder")


def read_json(path: Path, expected: type) -> Any:
    """Read a JSON file that holds a dict or a list; a damaged one is named."""
    try:
        content = json.loads(path.read_text())
    except ValueError as error:  # no JSON, or no text
        raise BadValueError(f"{path} is damaged: {error}.") from error
    require(isinstance(content, expected), f"{path} is damaged: it holds no {expected.__name__}.")
    return content


def provenance() -> dict[str, Any]:
    """Where and with what a run was started."""
    return {
        "format": FORMAT,
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
