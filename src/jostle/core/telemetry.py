"""Rows of numbers to metrics.jsonl, and to TensorBoard and Weights & Biases where installed."""

import os
from importlib.util import find_spec
from typing import Any

from jostle.core.rundir import RunDir


class Telemetry:
    """Writes what a run tells."""

    def __init__(self, run: RunDir, axis: str = "env_steps") -> None:
        """Write into the run's folder; `axis` is the key that boards draw everything over."""
        self._run, self._axis = run, axis
        self._board: Any = None
        self._bee: Any = None

    def log(self, row: dict[str, Any]) -> None:
        """Write one row."""
        self._run.log(row)
        if self._board is None:
            self._board, self._bee = _open_board(self._run), _open_bee(self._run)
        if self._board:
            for key, value in row.items():
                self._board.add_scalar(key, value, row[self._axis])
        if self._bee:
            self._bee.log(row, step=row[self._axis])

    def close(self) -> None:
        """Flush the boards."""
        if self._board:
            self._board.close()
        if self._bee:
            self._bee.finish()


def _open_board(run: RunDir) -> Any:
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError:
        return False
    return SummaryWriter(str(run.path / "tensorboard"))


def _open_bee(run: RunDir) -> Any:
    """Weights & Biases, if installed: into the run's folder, unless WANDB_MODE sends it out."""
    if find_spec("wandb") is None:
        return False
    import wandb

    return wandb.init(
        project=os.environ.get("WANDB_PROJECT", "jostle"),
        name=run.path.name,
        dir=str(run.path),
        config=run.read_experiment(),
        mode=os.environ.get("WANDB_MODE", "offline"),
        resume="allow",
    )
