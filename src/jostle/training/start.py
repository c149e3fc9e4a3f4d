"""Start a training, or resume one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from jostle.core.checkpoint import CheckpointError, load
from jostle.core.errors import BadValueError
from jostle.core.protocols import Encoder, Policy
from jostle.encoders.catalog import drop_attributes
from jostle.encoders.saving import load_encoder, save_encoder
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.catalog import SCRIPTED
from jostle.runs.config import ConfigMismatchError
from jostle.runs.run_dir import RunDir, critics_file
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.experiment import Experiment, differences, read_experiment
from jostle.training.train import LoadTeacher, make_trainer

LoadEncoder = Callable[[str], Encoder]
"""From a name to an encoder."""
Carry = Literal["actor", "all"]
"""What a new run takes over: the actor, or also critics and target networks."""


def encoder_from_file(name: str) -> Encoder:
    """Load an encoder of a file or a run."""
    path = Path(name)
    return load_encoder(RunDir(path).best if path.is_dir() else path)[0]


def scripted_teacher(name: str, env: TabletopVectorEnv) -> Policy:
    """Know scripted policies only."""
    return SCRIPTED[name](env.episode_sampler.task)


def start_run(
    experiment: Experiment,
    folder: Path,
    report: Report,
    weights: Path | None = None,
    carry: Carry = "actor",
    load_teacher: LoadTeacher = scripted_teacher,
    load_encoder: LoadEncoder = encoder_from_file,
) -> AgentTrainer:
    """Start a new run; `weights`, a file or a run, are what its networks start from."""
    if experiment.td3.bc_weight > 0 and weights is None:
        raise BadValueError(
            "bc_weight keeps the actor near the weights that training starts from: name them with "
            "--from, or train with --bc-weight 0."
        )
    run = RunDir(folder)
    run.check_new()
    encoder = None
    if experiment.encoder:
        encoder = drop_attributes(load_encoder(experiment.encoder), experiment.drop_attributes)
    trainer = make_trainer(experiment, run, report, encoder, load_teacher)
    history: list[dict[str, Any]] = []
    if weights is not None:
        history = _carry_weights(trainer, weights, carry)
    run.create(experiment.to_dict())
    run.write_history(history)
    if encoder is not None:  # a copy of its own: the run can resume wherever the original went
        save_encoder(run.encoder, encoder, {})
    return trainer


def resume_run(
    folder: Path,
    report: Report,
    expected: Experiment | None = None,
    load_teacher: LoadTeacher = scripted_teacher,
) -> AgentTrainer:
    """Resume a run from its last checkpoint; `expected`, if given, must be its experiment."""
    run = RunDir(folder)
    experiment = read_experiment(run.read_experiment())
    if expected is not None and (differing := differences(experiment, expected)):
        raise ConfigMismatchError(
            f"The run in {folder} is another experiment:\n  " + "\n  ".join(differing)
        )
    encoder = load_encoder(run.encoder)[0] if experiment.encoder else None
    trainer = make_trainer(experiment, run, report, encoder, load_teacher)
    if run.last.exists():
        trainer.resume()
    return trainer


def _carry_weights(trainer: AgentTrainer, weights: Path, carry: Carry) -> list[dict[str, Any]]:
    """Load networks of a file or a run; returns the trainings they went through."""
    file = RunDir(weights).best if weights.is_dir() else weights
    tensors, meta = load(file)
    if carry == "all":
        if not critics_file(file).is_file():
            raise CheckpointError(
                f"{file} has no critics beside it ({critics_file(file).name}), which --carry all "
                "needs. Carry the actor alone (--carry actor)."
            )
        tensors |= load(critics_file(file))[0]
    trainer.components.agent.load_weights(tensors, grow=True)
    history: list[dict[str, Any]] = meta.get("history", [])
    return history
