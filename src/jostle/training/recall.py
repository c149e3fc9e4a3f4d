"""A trained agent back from a run folder or a file of weights."""

from dataclasses import replace
from pathlib import Path

from jostle.agents.saving import load_weights
from jostle.agents.td3 import TD3Agent
from jostle.core.checkpoint import CheckpointError, load
from jostle.core.rundir import RunDir
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.learned import LearnedPolicy
from jostle.rollout.observer import StateObserver
from jostle.training.experiment import Experiment, read_experiment
from jostle.training.workshop import make_agent, make_env


def recall(path: Path) -> tuple[Experiment, TD3Agent]:
    """Read weights and what they were trained for."""
    file = RunDir(path).best if path.is_dir() else path
    tensors, meta = load(file)
    if "experiment" not in meta:
        raise CheckpointError(f"{file} does not say what it was trained for.")
    experiment = read_experiment(meta["experiment"])
    env = make_env(replace(experiment, training=replace(experiment.training, threads=1)), 1)
    agent = make_agent(experiment, StateObserver(env.reader, 1, None))
    load_weights(agent, tensors)
    return experiment, agent


def policy_for(agent: TD3Agent, env: TabletopVectorEnv) -> LearnedPolicy:
    """Let an agent act in an environment, with any number of objects if it is made for sets."""
    observer = StateObserver(env.reader, env.num_envs, None)
    if observer.features != agent.shapes.features:
        raise CheckpointError(
            f"This agent reads {agent.shapes.features} features an entity; {env.recipe.task.name} "
            f"shows {observer.features}. Was it trained on positions and asked for headings?"
        )
    if agent.net.kind == "mlp" and observer.state_shape != agent.shapes.state:
        raise CheckpointError(
            f"An unstructured network cannot change its number of objects: it was trained with "
            f"{agent.shapes.goal[1]}, here are {env.recipe.most}."
        )
    return LearnedPolicy(agent, observer)
