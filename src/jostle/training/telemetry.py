"""Rows of numbers to metrics.jsonl, and to TensorBoard where it is installed."""

from typing import Any

from jostle.core.rundir import RunDir


class Telemetry:
    """Writes what a run tells."""

    def __init__(self, run: RunDir) -> None:
        """Write into the run's folder."""
        self._run = run
        self._board: Any = None

    def log(self, row: dict[str, Any]) -> None:
        """Write one row."""
        self._run.log(row)
        if self._board is None:
            self._board = _open_board(self._run)
        if self._board:
            for key, value in row.items():
                self._board.add_scalar(key, value, row["env_steps"])

    def close(self) -> None:
        """Flush the board."""
        if self._board:
            self._board.close()


def _open_board(run: RunDir) -> Any:
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError:
        return False
    return SummaryWriter(str(run.path / "tensorboard"))
