"""Groups of environments: each is stepped by itself, in this process or in a worker's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from jostle.agents.base import PixelSensor
from jostle.core.checkpoint import pack_rng, unpack_rng
from jostle.core.protocols import Stateful
from jostle.core.seeding import SeedTree
from jostle.replay.episodes import Episodes
from jostle.rollout.collector import Collector
from jostle.training.behavior import BehaviorPolicy
from jostle.training.collection_config import CollectionConfig
from jostle.training.components import make_training_env
from jostle.training.experiment import Experiment
from jostle.training.images import make_finders
from jostle.training.observers import make_observers

Collected = tuple[Episodes, dict[str, float]]
"""Episodes, and means of the metrics of their last steps."""


class EpisodeSource(Stateful, Protocol):
    """Where a trainer gets its episodes from."""

    def collect(self, episodes: int) -> Collected:
        """Collect an episode per environment, after so many episodes of the training."""
        ...

    def close(self) -> None:
        """End processes that were started."""
        ...


def group_experiment(experiment: Experiment, index: int, start: int = 0) -> Experiment:
    """The part of one group: its environments, and a seed of its own.

    The first group has the experiment's seed. `start` counts how often a worker of the group was
    started: a new one does not repeat the episodes of the old one.
    """
    seed = experiment.seed
    if index or start:
        seed = SeedTree(seed).integer(f"group {index} start {start}")
    num_envs = experiment.training.num_envs // experiment.collection.groups
    training = replace(experiment.training, num_envs=num_envs)
    return replace(experiment, seed=seed, training=training, collection=CollectionConfig())


def make_collector(
    experiment: Experiment, sensor: PixelSensor | None, privileged: bool
) -> Collector:
    """The environments of a group with their observers."""
    training = experiment.training
    env = make_training_env(experiment, None if sensor is None else sensor.encoder)
    env.reset(seed=SeedTree(experiment.seed).integer("episodes"))
    steps = training.horizon or env.episode_sampler.task.horizon(env.episode_sampler.max_objects)
    observer, privileged_observer = make_observers(experiment, env, sensor, privileged)
    renders, keep_state = experiment.hindsight.goal_render_every, training.goal_augmentation > 0
    finders = make_finders(experiment, env, observer, sensor, privileged)
    return Collector(env, observer, steps, privileged_observer, renders, keep_state, finders)


@dataclass
class EnvGroup:
    """Environments that are stepped together, and what acts in them."""

    collector: Collector
    behavior: BehaviorPolicy

    def collect(self, episodes: int) -> Collected:
        """Play one episode in every environment."""
        self.behavior.reset(episodes)
        return self.collector.collect(self.behavior.act)

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """State of environments, observers and exploration."""
        tensors, meta = self.collector.state_dict()
        return tensors, {**meta, "rng": pack_rng(self.behavior.rng)}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.collector.load_state_dict(tensors, meta)
        if "rng" in meta:  # checkpoints of earlier versions have it elsewhere
            unpack_rng(self.behavior.rng, meta["rng"])


class LocalGroups:
    """All groups in this process, one after the other."""

    def __init__(self, groups: Sequence[EnvGroup]) -> None:
        """Collect with these groups."""
        self._groups = groups

    def collect(self, episodes: int) -> Collected:
        """Collect an episode per environment."""
        return join([group.collect(episodes) for group in self._groups])

    def close(self) -> None:
        """Nothing was started."""

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """States of all groups."""
        return join_states([group.state_dict() for group in self._groups])

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        for group, state in zip(self._groups, split_states(tensors, meta), strict=True):
            group.load_state_dict(*state)


def join(parts: Sequence[Collected]) -> Collected:
    """Episodes of several groups of one size as one."""
    if len(parts) == 1:
        return parts[0]
    arrays = [episodes.arrays() for episodes, _ in parts]
    joined = {name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]}
    infos = [info for _, info in parts]
    means = {name: float(np.mean([info[name] for info in infos])) for name in infos[0]}
    return Episodes.from_arrays(joined), means


State = tuple[dict[str, Tensor], dict[str, Any]]


def join_states(states: Sequence[State]) -> State:
    """States of groups as one: the first as it is, the others under their names."""
    tensors, meta = dict(states[0][0]), dict(states[0][1])
    for index, (own, own_meta) in enumerate(states[1:], 1):
        tensors |= {f"group{index}.{name}": tensor for name, tensor in own.items()}
        meta[f"group{index}"] = own_meta
    return tensors, meta


def split_states(tensors: dict[str, Tensor], meta: dict[str, Any]) -> list[State]:
    """Undo `join_states`."""
    names = [f"group{index}" for index in range(1, 1 + sum(key[:5] == "group" for key in meta))]
    states: list[State] = []
    for name in names:
        prefix = f"{name}."
        own = {key.removeprefix(prefix): x for key, x in tensors.items() if key.startswith(prefix)}
        states.append((own, meta[name]))
    first = {key: x for key, x in tensors.items() if not key.startswith("group")}
    return [(first, {key: part for key, part in meta.items() if key not in names}), *states]
