"""Observers: what actors and privileged critics see of an environment."""

import numpy as np
import torch

from jostle.agents.base import PixelSensor
from jostle.core.devices import resolve_device
from jostle.core.errors import require
from jostle.core.protocols import Observer
from jostle.core.seeding import SeedTree
from jostle.envs.vector import TabletopVectorEnv
from jostle.nets.config import NetConfig
from jostle.rollout.found_object_observer import FoundObjectObserver
from jostle.rollout.observer import StateFeatures, StateObserver
from jostle.rollout.particle_subgoals import ParticleSubgoalObserver
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.smorl import SubgoalObserver
from jostle.training.experiment import Experiment
from jostle.training.images import table_projection


def make_observer(
    net: NetConfig,
    env: TabletopVectorEnv,
    rng: np.random.Generator | None = None,
    sensor: PixelSensor | None = None,
    device: torch.device | None = None,
    state_features: StateFeatures = "full",
    shuffle_ids: bool = True,
) -> Observer:
    """The observer that goes with a network, or with an encoder and its cameras."""
    if sensor is not None and net.arch == "smorl":
        assert sensor.classifier is not None
        return ParticleSubgoalObserver(
            sensor.encoder, sensor.cameras, sensor.classifier, rng, device
        )
    if sensor is not None and sensor.finds_objects:
        return _object_observer(env, rng, sensor, device)
    if sensor is not None:
        projection = table_projection(env, sensor) if net.table_xy else None
        return PixelObserver(sensor.encoder, sensor.cameras, projection, device)
    require(
        not net.table_xy,
        "table_xy projects images to the table; this agent reads true state. Train with "
        "--no-table-xy.",
    )
    observer = SubgoalObserver if net.arch == "smorl" else StateObserver
    return observer(env.state_reader, env.num_envs, rng, state_features, shuffle_ids)


def _object_observer(
    env: TabletopVectorEnv,
    rng: np.random.Generator | None,
    sensor: PixelSensor,
    device: torch.device | None,
) -> FoundObjectObserver:
    """What finds objects among the particles of images."""
    projection = table_projection(env, sensor)
    particles = PixelObserver(sensor.encoder, sensor.cameras, projection, device)
    size = env.num_envs, env.episode_sampler.max_objects
    assert sensor.classifier is not None
    return FoundObjectObserver(particles, sensor.classifier, size, rng)


def make_observers(
    experiment: Experiment, env: TabletopVectorEnv, sensor: PixelSensor | None, privileged: bool
) -> tuple[Observer, Observer | None]:
    """What the actor observes, and what privileged critics do."""
    training, seeds = experiment.training, SeedTree(experiment.seed)
    shuffle, features = training.shuffle_object_ids, experiment.state_features
    device = resolve_device(training.device)
    # SMORL also chooses the object of an episode by this stream
    ids = seeds.rng("codes") if shuffle or experiment.net.arch == "smorl" else None
    observer = make_observer(experiment.net, env, ids, sensor, device, features, shuffle)
    if not privileged:
        return observer, None
    ids = seeds.rng("critic ids") if shuffle else None
    return observer, StateObserver(env.state_reader, env.num_envs, ids)
