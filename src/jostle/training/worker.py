"""What runs in a worker's process: one group of environments, and an actor of its own."""

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import mujoco
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.agents.base import PixelSensor
from jostle.core.protocols import Agent, Policy
from jostle.core.seeding import SeedTree
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.collector import Collector
from jostle.training.behavior import BehaviorPolicy
from jostle.training.env_groups import EnvGroup, State, group_experiment, make_collector
from jostle.training.experiment import Experiment
from jostle.training.methods import METHODS

LoadTeacher = Callable[[str, TabletopVectorEnv], Policy]
"""From a name to a policy that acts in an environment."""
Weights = dict[str, NDArray[Any]]
"""Weights that are needed to act."""


def versions() -> dict[str, str]:
    """Versions that learner and workers must share: other ones would collect other episodes."""
    return {"jostle": version("jostle"), "mujoco": mujoco.__version__, "torch": torch.__version__}


def make_group(
    experiment: Experiment, collector: Collector, agent: Agent, load_teacher: LoadTeacher
) -> EnvGroup:
    """A group whose experiment, environments and actor are there."""
    method = METHODS[experiment.training.method]
    teacher = load_teacher(method.teacher(experiment), collector.env) if method.teacher else None
    rng = SeedTree(experiment.seed).rng("exploration")
    behavior = BehaviorPolicy(experiment, collector.env, agent, rng, teacher)
    return EnvGroup(collector, behavior)


class RolloutWorker:
    """Collects episodes with the weights it is given; on one thread of the CPU."""

    def __init__(
        self,
        experiment: Experiment,
        sensor: PixelSensor | None,
        load_teacher: LoadTeacher,
        index: int,
        start: int,
    ) -> None:
        """Build group number `index`, for the `start`-th time."""
        torch.set_num_threads(1)
        own = group_experiment(experiment, index, start)
        training = replace(own.training, threads=1, device="cpu")
        own = replace(own, training=training, td3=replace(own.td3, compile="off"))
        method = METHODS[training.method]
        collector = make_collector(own, sensor, method.privileged)
        observer, privileged = collector.observer, collector.privileged_observer
        self._agent = method.make_agent(own, observer, privileged, sensor)
        self._group = make_group(own, collector, self._agent, load_teacher)

    def versions(self) -> dict[str, str]:
        """Versions of packages in this process; also says that it is ready."""
        return versions()

    def collect(
        self, weights: Weights, episodes: int
    ) -> tuple[dict[str, NDArray[Any]], dict[str, float]]:
        """Play one episode in every environment; returns arrays of the episodes, and metrics."""
        tensors = {name: torch.tensor(array) for name, array in weights.items()}
        self._agent.load_weights(tensors)
        collected, infos = self._group.collect(episodes)
        return collected.arrays(), infos

    def state(self) -> State:
        """State of environments, observers and exploration."""
        tensors, meta = self._group.state_dict()
        return {name: tensor.clone() for name, tensor in tensors.items()}, meta

    def load_state(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self._group.load_state_dict({name: x.clone() for name, x in tensors.items()}, meta)
