"""Begin a pretraining, or go on with one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from jostle.core.checkpoint import CheckpointError, fill, load
from jostle.core.errors import JostleError
from jostle.core.rundir import RunDir
from jostle.particles.catalog import EncoderConfig
from jostle.particles.saving import PREFIX, read_entry
from jostle.pretraining.bench import Bench, open_bench
from jostle.pretraining.config import Pretraining, differences, read_pretraining
from jostle.pretraining.loop import Pretrainer, Report


class AnotherPretrainingError(JostleError, ValueError):
    """A run that was asked to go on as something else."""


def begin(
    plan: Pretraining[EncoderConfig],
    folder: Path,
    report: Report,
    weights: Path | None = None,
    verify: bool = False,
) -> Pretrainer:
    """Start a new run.

    Args:
        plan: What to do.
        folder: Folder of the run.
        report: Hears of every step.
        weights: A file or a run to take the encoder's weights from.
        verify: Whether to compare all frames with their hashes first.
    """
    run = RunDir(folder)
    run.check_new()
    bench = open_bench(plan)
    if verify:
        bench.frames.verify()
    history: list[dict[str, Any]] = []
    if weights is None:
        bench.first_look()
    else:
        history = _take(bench, weights)
    run.create(bench.plan.to_dict())
    run.write_history(history)
    trainer = Pretrainer(bench, run, report)
    trainer.save()
    return trainer


def go_on(
    folder: Path,
    report: Report,
    wanted: Pretraining[EncoderConfig] | None = None,
    data: Path | None = None,
) -> Pretrainer:
    """Continue a run from its last checkpoint.

    Args:
        folder: Folder of the run.
        report: Hears of every step.
        wanted: If given, the run must be this very pretraining.
        data: Where its frames are now, if they were moved.
    """
    run = RunDir(folder)
    plan = read_pretraining(run.read_experiment())
    if wanted is not None:
        free = ("data",) if wanted.scenes else ("data", "scenes")
        if differing := differences(plan, wanted, but=free):
            raise AnotherPretrainingError(
                f"The run in {folder} is another pretraining:\n  " + "\n  ".join(differing)
            )
    if not run.last.exists():
        raise CheckpointError(
            f"The run in {folder} broke off before its first checkpoint. Remove the folder and "
            "begin again."
        )
    bench = open_bench(plan if data is None else replace(plan, data=str(data)))
    trainer = Pretrainer(bench, run, report)
    trainer.resume()
    return trainer


def _take(bench: Bench, weights: Path) -> list[dict[str, Any]]:
    """Start from the weights of a file or a run; returns what they went through."""
    file = RunDir(weights).best if weights.is_dir() else weights
    tensors, meta = load(file)
    kind, _ = read_entry(meta, file)
    if kind != bench.plan.kind:
        raise CheckpointError(
            f"{file} holds a '{kind}', but a '{bench.plan.kind}' is to be trained. "
            f"Say: jostle pretrain {kind} --from {weights}."
        )
    fill(bench.model, tensors, PREFIX, f"{kind} in {file}")
    bench.share_weights()
    history: list[dict[str, Any]] = meta.get("history", [])
    return history
