"""Start a pretraining, or resume one."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from jostle.core.checkpoint import CheckpointError, load_into
from jostle.encoders.catalog import EncoderConfig
from jostle.encoders.saving import PREFIX, load_tensors, read_entry
from jostle.pretraining.components import Components, build_components
from jostle.pretraining.config import Pretraining, differences, read_pretraining
from jostle.pretraining.trainer import EncoderTrainer
from jostle.runs.config import ConfigMismatchError
from jostle.runs.resume import Notify, change_total, ignore
from jostle.runs.run_dir import ReadOnlyRunDir, RunDir
from jostle.runs.trainer import Report


def start_run(
    config: Pretraining[EncoderConfig],
    folder: Path,
    report: Report,
    weights: Path | None = None,
    verify: bool = False,
) -> EncoderTrainer:
    """Start a new run.

    Args:
        config: What to do.
        folder: Folder of the run.
        report: Called after every step.
        weights: A file or a run to take the encoder's weights from.
        verify: Whether to compare all frames with their hashes first.
    """
    run = _run_dir(folder)
    run.check_new()
    components = build_components(config)
    if verify:
        components.frames.verify()
    history: list[dict[str, Any]] = []
    if weights is None:
        components.init_from_data()
    else:
        history = _carry_weights(components, weights)
    run.create(components.config.to_dict())
    run.write_history(history)
    trainer = EncoderTrainer(components, run, report)
    trainer.save()
    return trainer


def resume_run(
    folder: Path,
    report: Report,
    expected: Pretraining[EncoderConfig] | None = None,
    data: Path | None = None,
    steps: int | None = None,
    notify: Notify = ignore,
) -> EncoderTrainer:
    """Resume a run from its last checkpoint.

    Args:
        folder: Folder of the run.
        report: Called after every step.
        expected: If given, the run must be this very pretraining.
        data: Where its frames are now, if they were moved.
        steps: A new total of gradient steps, also for a run that is finished.
        notify: Called with sentences about what is done otherwise than before.
    """
    run = _run_dir(folder)
    config = run.load_config(read_pretraining)
    if expected is not None:
        ignore = ("data",) if expected.scenes else ("data", "scenes")
        if differing := differences(config, expected, ignore):
            raise ConfigMismatchError(
                f"The run in {folder} is another pretraining:\n  " + "\n  ".join(differing)
            )
    if not run.last.exists():
        raise CheckpointError(
            f"The run in {folder} stopped before its first checkpoint. Remove the folder and "
            "start again."
        )
    before, config = config, config if steps is None else replace(config, steps=steps)
    components = build_components(config if data is None else replace(config, data=str(data)))
    trainer = EncoderTrainer(components, run, report)
    trainer.resume()
    if config.steps != before.steps:
        change_total(trainer, config.to_dict(), "gradient steps", notify)
        done = trainer.counters["step"]
        notify(
            f"The step size follows a cosine over all steps: by the new total it is now "
            f"{config.lr_at(done):.2g}, by the old one it was {before.lr_at(done):.2g}. A training "
            "with the new total from the start would have another result."
        )
    return trainer


def _run_dir(folder: Path) -> RunDir:
    """The run's folder; of several processes, only the main one writes to it."""
    return RunDir(folder) if int(os.environ.get("RANK", "0")) == 0 else ReadOnlyRunDir(folder)


def _carry_weights(components: Components, weights: Path) -> list[dict[str, Any]]:
    """Load the weights of a file or a run; returns the trainings they went through."""
    file = RunDir(weights).weights() if weights.is_dir() else weights
    tensors, meta = load_tensors(file)
    kind, _ = read_entry(meta, file)
    if kind != components.config.kind:
        raise CheckpointError(
            f"{file} holds a '{kind}', but a '{components.config.kind}' is to be trained. "
            f"Say: jostle pretrain {kind} --from {weights}."
        )
    load_into(components.model, tensors, PREFIX, f"{kind} in {file}")
    components.restart_ema()
    history: list[dict[str, Any]] = meta.get("history", [])
    return history
