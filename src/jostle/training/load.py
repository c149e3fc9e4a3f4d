"""A trained agent of a run folder or a file of weights."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from jostle.agents.base import PixelSensor
from jostle.core.checkpoint import CheckpointError, load
from jostle.core.object_classifier import classifier_from_json
from jostle.core.protocols import Agent, Encoder
from jostle.encoders.saving import encoder_hash, load_encoder
from jostle.runs.run_dir import RunDir, encoder_file
from jostle.training.components import agent_encoder, make_env
from jostle.training.experiment import Experiment, read_experiment
from jostle.training.methods import METHODS
from jostle.training.observers import make_observer

FindEncoder = Callable[[str], Path | None]
"""From the hash of an encoder's weights to its file, if there is one."""


def no_encoder(digest: str) -> Path | None:
    """Know no encoders besides those that lie beside the weights."""
    del digest
    return None


def load_agent(
    path: Path, find_encoder: FindEncoder = no_encoder, device: str = "auto"
) -> tuple[Experiment, Agent]:
    """Read weights and the experiment that they were trained by.

    Of a run, these are the best weights or, before its first evaluation, those of its last
    checkpoint.
    """
    file = RunDir(path).weights() if path.is_dir() else path
    tensors, meta = load(file)
    if "experiment" not in meta:
        kind = meta.get("encoder", {}).get("kind")
        what = f"holds an encoder ({kind})" if kind else "does not say what it was trained for"
        raise CheckpointError(
            f"{file} {what}, and an agent is wanted: a scripted policy, a name of the zoo, a run "
            "of 'jostle train' or a file of weights."
        )
    experiment = read_experiment(meta["experiment"])
    training = replace(experiment.training, threads=1, device=device)
    env = make_env(replace(experiment, training=training), 1)
    try:
        sensor = None
        if "encoder" in meta:
            encoder = agent_encoder(_encoder_of(meta["encoder"], file, find_encoder), experiment)
            known = meta.get("object_classifier")
            classifier = None if known is None else classifier_from_json(known)
            finds_objects = experiment.entities == "objects"
            sensor = PixelSensor(encoder, experiment.cameras, classifier, finds_objects)
        features = experiment.state_features
        observer = make_observer(experiment.net, env, None, sensor, None, features)
        make_agent = METHODS[training.method].make_agent
        td3 = replace(experiment.td3, compile="off")  # acting alone is not worth it
        playing = replace(experiment, training=training, td3=td3)
        if sensor is not None:  # privileged critics, which are not loaded, may have other values
            playing = replace(playing, net=replace(playing.net, values="pooled"))
        agent = make_agent(playing, observer, None, sensor)
    finally:
        env.close()
    agent.load_weights(acting_tensors(tensors, meta, agent))
    return experiment, agent


def acting_tensors(
    tensors: dict[str, Tensor], meta: dict[str, Any], agent: Agent
) -> dict[str, Tensor]:
    """The tensors of a file that let an agent act; a checkpoint of a training holds more."""
    if "parts" not in meta:
        return tensors
    return {
        name: tensors[f"agent.{name}"]
        for name in agent.acting_tensors()
        if f"agent.{name}" in tensors
    }


def _encoder_of(reference: dict[str, Any], file: Path, find_encoder: FindEncoder) -> Encoder:
    """The encoder that an agent was trained with: beside its weights, of its run, or found."""
    run = RunDir(file.parent.parent)
    for path in (encoder_file(file), run.encoder, find_encoder(reference["hash"])):
        if path is not None and path.is_file():
            encoder = load_encoder(path)[0]
            if encoder_hash(encoder) == reference["hash"]:
                return encoder
    raise CheckpointError(
        f"{file} was trained with the encoder '{reference['name']}' (hash {reference['hash']}), "
        f"which is neither beside it ({encoder_file(file).name}) nor in its run nor in the zoo."
    )
