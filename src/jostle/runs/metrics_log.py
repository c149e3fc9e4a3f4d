"""Metrics of a run: metrics.jsonl, TensorBoard where installed, Weights & Biases if asked for."""

import os
import uuid
from importlib.util import find_spec
from typing import Any

from jostle.core.errors import require
from jostle.runs.run_dir import RunDir


class MetricsLogger:
    """Writes the metrics of a run."""

    def __init__(self, run: RunDir, axis: str = "env_steps", wandb: bool = False) -> None:
        """Write into the run's folder; `axis` is the key of the x axis of all curves."""
        require(
            not wandb or find_spec("wandb") is not None,
            "Weights & Biases is not installed: pip install wandb, or train without --wandb.",
        )
        self._run, self._axis, self._use_wandb = run, axis, wandb
        self._tensorboard: Any = None
        self._wandb: Any = None

    def log(self, row: dict[str, Any]) -> None:
        """Write one row."""
        self._run.log(row)
        if self._run.read_only:
            return
        if self._tensorboard is None:
            self._tensorboard = _open_tensorboard(self._run)
            self._wandb = _open_wandb(self._run) if self._use_wandb else False
        if self._tensorboard:
            for key, value in row.items():
                self._tensorboard.add_scalar(key, value, row[self._axis])
        if self._wandb:
            self._wandb.log(row, step=row[self._axis])

    def close(self) -> None:
        """Flush the writers."""
        if self._tensorboard:
            self._tensorboard.close()
        if self._wandb:
            self._wandb.finish()
        self._tensorboard = self._wandb = None


def _open_tensorboard(run: RunDir) -> Any:
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError:
        return False
    return SummaryWriter(str(run.path / "tensorboard"))


def _open_wandb(run: RunDir) -> Any:
    """Weights & Biases: into the run's folder, unless WANDB_MODE sends it out."""
    import wandb

    return wandb.init(
        project=os.environ.get("WANDB_PROJECT", "jostle"),
        name=run.path.name,
        id=_wandb_id(run),
        dir=str(run.path),
        config=run.read_experiment(),
        mode=os.environ.get("WANDB_MODE", "offline"),
        resume="allow",
    )


def _wandb_id(run: RunDir) -> str:
    """The id under which a run is resumed there, kept in its folder."""
    file = run.path / "wandb_id.txt"
    if not file.is_file():
        file.write_text(uuid.uuid4().hex[:12])
    return file.read_text()
