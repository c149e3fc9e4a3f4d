"""Start a training, or resume one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jostle.core.checkpoint import CheckpointError
from jostle.core.errors import BadValueError, require
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.protocols import Encoder, Policy
from jostle.encoders.saving import load_encoder, save_encoder
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.catalog import SCRIPTED
from jostle.runs.config import ConfigMismatchError
from jostle.runs.resume import Notify, change_total, ignore, restart
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.carry import carry_weights, critics_of
from jostle.training.components import agent_encoder, check_episodes
from jostle.training.curriculum import CurriculumTrainer, Stage, stages_of
from jostle.training.experiment import Carry, Experiment, differences, read_experiment
from jostle.training.images import new_classifier, run_classifier, store_classifier
from jostle.training.methods import METHODS
from jostle.training.train import LoadTeacher, make_trainer

LoadEncoder = Callable[[str], Encoder]
"""From a name to an encoder."""


def encoder_from_file(name: str) -> Encoder:
    """Load an encoder of a file or a run."""
    path = Path(name)
    return load_encoder(RunDir(path).weights() if path.is_dir() else path)[0]


def scripted_teacher(name: str, env: TabletopVectorEnv) -> Policy:
    """Know scripted policies only."""
    return SCRIPTED[name](env.episode_sampler.task)


def start_run(
    experiment: Experiment,
    folder: Path,
    report: Report,
    weights: Path | None = None,
    carry: Carry | Path = "actor",
    load_teacher: LoadTeacher = scripted_teacher,
    load_encoder: LoadEncoder = encoder_from_file,
) -> AgentTrainer | CurriculumTrainer:
    """Start a new run.

    `weights`, a file or a run, are what its networks start from; `carry` says which of them, or
    names a state agent whose critics are taken instead.
    """
    _check_start(experiment, weights, carry)
    run = RunDir(folder)
    run.check_new()
    check_episodes(experiment)
    encoder = None
    if experiment.encoder:
        encoder = agent_encoder(load_encoder(experiment.encoder), experiment)
    classifier = new_classifier(experiment, encoder)

    # Everything is built before anything is written: a mistake leaves no folder behind
    if experiment.training.curriculum:
        first = stages_of(experiment, run)[0]
        trainer = make_trainer(
            first.experiment, first.run, report, encoder, load_teacher, classifier
        )
        trainer.check_budget()
        trainer.components.env.close()
        _create(run, experiment, encoder, classifier, [])
        return _curriculum(experiment, run, report, load_teacher)
    trainer = make_trainer(experiment, run, report, encoder, load_teacher, classifier)
    trainer.check_budget()
    history = carry_weights(trainer, weights, carry)
    _create(run, experiment, encoder, classifier, history)
    if history:  # a run that is killed early does not lose them
        trainer.save()
    return trainer


def resume_run(
    folder: Path,
    report: Report,
    expected: Experiment | None = None,
    load_teacher: LoadTeacher = scripted_teacher,
    env_steps: int | None = None,
    notify: Notify = ignore,
    collection: Mapping[str, Any] | None = None,
) -> AgentTrainer | CurriculumTrainer:
    """Resume a run from its last checkpoint.

    Args:
        folder: Folder of the run.
        report: Called after every iteration.
        expected: If given, the run must be this very experiment.
        load_teacher: From a name to a policy that acts in an environment.
        env_steps: A new total of environment steps, also for a run that is finished.
        notify: Called with sentences about what is done otherwise than before.
        collection: Fields of `CollectionConfig` that differ this time, such as workers.
    """
    run = RunDir(folder)
    experiment = run.load_config(read_experiment)
    if expected is not None and (differing := differences(experiment, expected)):
        raise ConfigMismatchError(
            f"The run in {folder} is another experiment:\n  " + "\n  ".join(differing)
        )
    changed = replace(experiment.collection, **(collection or {}))
    experiment = replace(experiment, collection=changed)
    offline = METHODS[experiment.training.method].offline
    before = experiment.offline.updates if offline else experiment.training.env_steps
    if env_steps is not None:
        require(
            not offline,
            f"The run in {folder} learns offline and takes no environment steps: start a new run "
            "with more --updates (--from RUN).",
        )
        training = replace(experiment.training, env_steps=env_steps)
        experiment = replace(experiment, training=training)
    if experiment.training.curriculum:
        return _curriculum(experiment, run, report, load_teacher, notify)

    encoder = load_encoder(run.encoder)[0] if experiment.encoder else None
    classifier = run_classifier(run, experiment, encoder)
    trainer = make_trainer(experiment, run, report, encoder, load_teacher, classifier)
    if run.last.exists():
        trainer.resume()
    elif run.read_history():
        raise CheckpointError(
            f"The run in {folder} has no checkpoint and not the weights that it started from: "
            "start a new run with --from."
        )
    else:
        restart(run, notify)
    _change_total(trainer, before, notify)
    return trainer


def _check_start(experiment: Experiment, weights: Path | None, carry: Carry | Path) -> None:
    """Refuse weights that are missing, or that nothing would start from."""
    if experiment.td3.bc_weight > 0 and weights is None:
        raise BadValueError(
            "bc_weight keeps the actor near the weights that training starts from: name them with "
            "--from, or train with --bc-weight 0."
        )
    if experiment.training.curriculum and (weights is not None or critics_of(carry) is not None):
        raise BadValueError(
            "A curriculum starts from nothing: its first stage has fewer objects. To start from "
            "weights, train with --no-curriculum."
        )


def _create(
    run: RunDir,
    experiment: Experiment,
    encoder: Encoder | None,
    classifier: ObjectClassifier | None,
    history: list[dict[str, Any]],
) -> None:
    """Write the config of a run."""
    run.create(experiment.to_dict())
    run.write_history(history)
    if encoder is not None:  # a copy of its own: the run can resume wherever the original went
        save_encoder(run.encoder, encoder, {})
    store_classifier(run, classifier)


def _change_total(trainer: AgentTrainer, before: int, notify: Notify) -> None:
    """Give a resumed run the total that its trainer has, if it is another than before."""
    if trainer.total != before:
        change_total(trainer, trainer.experiment.to_dict(), "environment steps", notify)
        _describe_lr(trainer, before, notify)


def _describe_lr(trainer: AgentTrainer, before: int, notify: Notify) -> None:
    """Say how a new total changes step sizes that depend on it."""
    fraction = trainer.experiment.training.lr_decay_fraction
    if fraction > 0:
        old, new = trainer.lr_decay(before), trainer.lr_decay(trainer.total)
        notify(
            f"Step sizes fall in the last {fraction:.0%} of a training: by the new total they are "
            f"now {new:.2f} of their full size, by the old one they were {old:.2f}. A training "
            "with the new total from the start would have another result."
        )


def _curriculum(
    experiment: Experiment,
    run: RunDir,
    report: Report,
    load_teacher: LoadTeacher,
    notify: Notify = ignore,
) -> CurriculumTrainer:
    """The stages of a run whose config is written; finished ones are skipped."""

    def open_stage(stage: Stage, before: RunDir | None, report: Report) -> AgentTrainer:
        encoder = load_encoder(run.encoder)[0] if experiment.encoder else None
        classifier = run_classifier(run, experiment, encoder)
        if not stage.run.experiment.is_file():
            _create(stage.run, stage.experiment, encoder, classifier, [])
        total = read_experiment(stage.run.read_experiment()).training.env_steps
        trainer = make_trainer(
            stage.experiment, stage.run, report, encoder, load_teacher, classifier
        )
        if stage.run.last.exists():
            trainer.resume()
        elif before is not None:
            stage.run.write_history(carry_weights(trainer, before.path, "all"))
        _change_total(trainer, total, notify)
        return trainer

    return CurriculumTrainer(stages_of(experiment, run), open_stage, report)
