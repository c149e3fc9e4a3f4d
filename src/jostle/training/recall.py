"""A trained agent back from a run folder or a file of weights."""

from dataclasses import replace
from pathlib import Path

from jostle.agents.saving import load_weights
from jostle.agents.td3 import TD3Agent
from jostle.core.checkpoint import CheckpointError, load
from jostle.core.rundir import RunDir
from jostle.particles.saving import read_encoder
from jostle.training.experiment import Experiment, read_experiment
from jostle.training.workshop import make_agent, make_env, make_observer


def recall(path: Path) -> tuple[Experiment, TD3Agent]:
    """Read weights and what they were trained for."""
    file = RunDir(path).best if path.is_dir() else path
    tensors, meta = load(file)
    if "encoder" in meta:
        raise CheckpointError(
            f"{file} holds an encoder ({meta['encoder'].get('kind')}), which sees but does not "
            "act. Name an agent: a script, a name of the zoo, a run of 'jostle train' or a file."
        )
    if "experiment" not in meta:
        raise CheckpointError(f"{file} does not say what it was trained for.")
    experiment = read_experiment(meta["experiment"])
    env = make_env(replace(experiment, training=replace(experiment.training, threads=1)), 1)
    encoder = read_encoder(tensors, {"encoder": meta["eyes"]}, file) if "eyes" in meta else None
    observer = make_observer(experiment.net, env, None, encoder, experiment.cameras)
    agent = make_agent(experiment, observer)
    load_weights(agent, tensors)
    agent.eyes, agent.cameras = encoder, experiment.cameras
    return experiment, agent
