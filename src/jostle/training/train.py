"""The composition root of a training: environments, observer, buffer, agent, trainer."""

import torch

from jostle.agents.base import PixelSensor
from jostle.core.errors import require
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.protocols import Agent, Encoder
from jostle.core.seeding import SeedTree
from jostle.replay.buffer import EpisodeBuffer
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.components import Components, make_sampler
from jostle.training.env_groups import EpisodeSource, LocalGroups, group_experiment, make_collector
from jostle.training.experiment import Experiment
from jostle.training.methods import METHODS, check_agent
from jostle.training.ray_workers import RayWorkers
from jostle.training.worker import LoadTeacher as LoadTeacher
from jostle.training.worker import make_group


def make_trainer(
    experiment: Experiment,
    run: RunDir,
    report: Report,
    encoder: Encoder | None,
    load_teacher: LoadTeacher,
    classifier: ObjectClassifier | None = None,
) -> AgentTrainer:
    """Build everything from the experiment and its seed; nothing is written yet.

    `classifier` says which particles show objects, for training by images.
    """
    training, seeds = experiment.training, SeedTree(experiment.seed)
    method = METHODS[training.method]
    require(
        method.offline or not experiment.offline.data,
        f"The method '{training.method}' collects its own episodes: --data is for "
        f"{', '.join(name for name, other in METHODS.items() if other.offline)}.",
    )
    method.check(experiment)
    require(
        (method.workers and not method.offline)
        or (experiment.collection.groups == 1 and not experiment.collection.workers),
        f"The method '{training.method}' collects in one process: train without --workers and "
        "--env-groups.",
    )
    if training.threads:
        torch.set_num_threads(training.threads)

    sensor = None
    if encoder is not None:
        finds_objects = experiment.entities == "objects"
        sensor = PixelSensor(encoder, experiment.cameras, classifier, finds_objects)
    collector = make_collector(group_experiment(experiment, 0), sensor, method.privileged)
    env, observer, privileged = collector.env, collector.observer, collector.privileged_observer
    buffer = EpisodeBuffer(max(training.replay_size // collector.steps, training.num_envs))
    sampler = make_sampler(experiment, env, buffer, observer, privileged, classifier)
    agent = method.make_agent(experiment, observer, privileged, sensor)
    check_agent(agent, training.method)
    teacher = load_teacher(method.teacher(experiment), env) if method.teacher else None
    source = _make_source(experiment, sensor, agent, load_teacher)
    rng = seeds.rng("exploration")
    components = Components(collector, buffer, sampler, agent, rng, teacher, source)
    return method.make_trainer(experiment, components, run, report)


def _make_source(
    experiment: Experiment, sensor: PixelSensor | None, agent: Agent, load_teacher: LoadTeacher
) -> EpisodeSource | None:
    """Workers, or several groups in this process; None for the only group."""
    collection = experiment.collection
    if collection.workers:
        return RayWorkers(experiment, sensor, agent, load_teacher)
    if collection.groups == 1:
        return None
    privileged = METHODS[experiment.training.method].privileged
    groups = []
    for index in range(collection.groups):
        own = group_experiment(experiment, index)
        groups.append(make_group(own, make_collector(own, sensor, privileged), agent, load_teacher))
    return LocalGroups(groups)
