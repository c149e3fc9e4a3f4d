"""Agents of the offline methods, from an experiment and what the observers show."""

from jostle.agents.base import PixelSensor
from jostle.agents.bc import BCAgent
from jostle.agents.iql import IQLAgent
from jostle.core.devices import resolve_device
from jostle.core.protocols import Observer
from jostle.core.seeding import SeedTree
from jostle.training.components import agent_spec
from jostle.training.experiment import Experiment


def make_bc_agent(
    experiment: Experiment,
    observer: Observer,
    privileged_observer: Observer | None = None,
    sensor: PixelSensor | None = None,
) -> BCAgent:
    """A new agent of the method `bc`."""
    return BCAgent(
        experiment.net,
        experiment.td3,
        agent_spec(observer, privileged_observer),
        SeedTree(experiment.seed).integer("weights"),
        sensor,
        experiment.explore.eval_noise_std,
        resolve_device(experiment.training.device),
    )


def make_iql_agent(
    experiment: Experiment,
    observer: Observer,
    privileged_observer: Observer | None = None,
    sensor: PixelSensor | None = None,
) -> IQLAgent:
    """A new agent of the methods `iql` and `iql-privileged`."""
    agent = IQLAgent(
        experiment.net,
        experiment.td3,
        experiment.iql,
        agent_spec(observer, privileged_observer),
        SeedTree(experiment.seed).integer("weights"),
        sensor,
        resolve_device(experiment.training.device),
    )
    agent.eval_noise_std = experiment.explore.eval_noise_std
    return agent
