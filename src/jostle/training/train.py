"""The composition root of a training: environments, observer, buffer, agent, trainer."""

from collections.abc import Callable

import torch

from jostle.agents.base import PixelSensor
from jostle.core.errors import require
from jostle.core.protocols import Encoder, Policy
from jostle.core.seeding import SeedTree
from jostle.envs.vector import TabletopVectorEnv
from jostle.replay.buffer import EpisodeBuffer
from jostle.rollout.collector import Collector
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.components import Components, make_observers, make_sampler, make_training_env
from jostle.training.experiment import Experiment
from jostle.training.methods import METHODS, check_agent

LoadTeacher = Callable[[str, TabletopVectorEnv], Policy]
"""From a name to a policy that acts in an environment."""


def make_trainer(
    experiment: Experiment,
    run: RunDir,
    report: Report,
    encoder: Encoder | None,
    load_teacher: LoadTeacher,
) -> AgentTrainer:
    """Build everything from the experiment and its seed; nothing is written yet."""
    training, seeds = experiment.training, SeedTree(experiment.seed)
    method = METHODS[training.method]
    require(
        method.offline or not experiment.offline.data,
        f"The method '{training.method}' collects its own episodes: --data is for "
        f"{', '.join(name for name, other in METHODS.items() if other.offline)}.",
    )
    method.check(experiment)
    if training.threads:
        torch.set_num_threads(training.threads)

    env = make_training_env(experiment, encoder)
    env.reset(seed=seeds.integer("episodes"))
    steps = training.horizon or env.episode_sampler.task.horizon(env.episode_sampler.max_objects)
    renders = experiment.hindsight.goal_render_every

    sensor = None if encoder is None else PixelSensor(encoder, experiment.cameras)
    observer, privileged = make_observers(experiment, env, sensor, method.privileged)
    keep_state = training.goal_augmentation > 0
    collector = Collector(env, observer, steps, privileged, renders, keep_state)

    buffer = EpisodeBuffer(max(training.replay_size // steps, training.num_envs))
    sampler = make_sampler(experiment, env, buffer, observer, privileged)
    agent = method.make_agent(experiment, observer, privileged, sensor)
    check_agent(agent, training.method)
    teacher = load_teacher(method.teacher(experiment), env) if method.teacher else None
    components = Components(collector, buffer, sampler, agent, seeds.rng("exploration"), teacher)
    return method.make_trainer(experiment, components, run, report)
