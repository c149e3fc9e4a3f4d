"""What resumed runs of agents and encoders share: new totals, and runs without a checkpoint."""

from collections.abc import Callable
from typing import Any

from jostle.core.errors import require
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Trainer

Notify = Callable[[str], None]
"""Called with a sentence that the user should read."""


def ignore(text: str) -> None:
    """Drop a sentence."""
    del text


def restart(run: RunDir, notify: Notify) -> None:
    """Let a run without a checkpoint start at zero; what it has written is moved aside."""
    with run.lock():
        moved = run.move_aside()
    kept = f" What it had written is kept: {', '.join(moved)}." if moved else ""
    notify(f"The run in {run.path} has no checkpoint: it starts at zero.{kept}")


def change_total(trainer: Trainer, config: dict[str, Any], unit: str, notify: Notify) -> None:
    """Give a resumed run another total, which `trainer` and `config` have already."""
    run, done = trainer.run_dir, trainer.counters[trainer.axis]
    require(
        trainer.total > done,
        f"The run in {run.path} has done {done:,} {unit} already: ask for more than that.",
    )
    with run.lock():
        run.write_experiment(config)
    notify(f"The run in {run.path} has done {done:,} {unit} and goes on to {trainer.total:,}.")
