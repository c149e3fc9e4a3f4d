"""The components of a training: environments, observers, agent, policies."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from jostle.agents.base import PixelSensor
from jostle.agents.networks import ObservationSpec
from jostle.agents.td3 import TD3Agent
from jostle.core.checkpoint import CheckpointError
from jostle.core.devices import resolve_device
from jostle.core.errors import require
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.protocols import Agent, Encoder, Observer, Policy
from jostle.core.seeding import SeedTree
from jostle.encoders.catalog import drop_attributes, show_all_particles
from jostle.envs.vary_check import check_varied_episodes
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.by_images import ImageEvaluation, evaluate_by_images
from jostle.evaluation.evaluate import Evaluation, evaluate
from jostle.replay.buffer import EpisodeBuffer
from jostle.replay.sampler import HindsightSampler
from jostle.replay.transition_rewards import RewardSpec
from jostle.rewards.catalog import make_reward
from jostle.rollout.collector import Collector
from jostle.rollout.found_object_observer import FoundObjectObserver, FoundObjectPolicy
from jostle.rollout.observer import features_of
from jostle.rollout.policies import AgentPolicy
from jostle.rollout.smorl import SubgoalObserver, SubgoalPolicy
from jostle.tasks.catalog import TASKS, task_with
from jostle.tasks.vary import parse_vary
from jostle.training.experiment import Experiment
from jostle.training.images import (
    goals_of_objects,
    object_recorder,
    particle_subgoal_policy,
    reward_context,
)
from jostle.training.observers import make_observer

if TYPE_CHECKING:
    from jostle.training.env_groups import EpisodeSource


@dataclass
class Components:
    """What one training works with."""

    collector: Collector
    """Environments with their observers."""
    buffer: EpisodeBuffer
    """Replay buffer."""
    sampler: HindsightSampler
    """Batches with relabeled goals."""
    agent: Agent
    """Networks and their optimizers."""
    rng: np.random.Generator
    """Randomness of exploration."""
    teacher: Policy | None = None
    """Expert of 'td3-demos' or 'dagger'."""
    source: "EpisodeSource | None" = None
    """Where episodes come from, if not from the collector alone."""

    @property
    def env(self) -> TabletopVectorEnv:
        """The training environments."""
        return self.collector.env


EVAL_SEED = 1_000_000
"""First episode of evaluations during training: training itself never meets these seeds."""


def make_env(
    experiment: Experiment, num_envs: int, encoder: Encoder | None = None
) -> TabletopVectorEnv:
    """Environments of the experiment's task; images have the encoder's size."""
    pixels: dict[str, Any] = {"obs_type": "both", "cameras": experiment.cameras}
    if encoder is not None:
        pixels["image_size"] = encoder.config.image_size
    return TabletopVectorEnv(
        num_envs,
        experiment.task,
        autoreset_mode="Disabled",
        threads=experiment.training.threads,
        **_scene_options(experiment),
        **(pixels if experiment.encoder else {}),
    )


def check_episodes(experiment: Experiment) -> None:
    """Refuse variations with which the first episodes of evaluations are impossible."""
    seeds = range(EVAL_SEED, EVAL_SEED + experiment.training.eval_episodes)
    vary = parse_vary(experiment.vary)
    check_varied_episodes(vary, experiment.task, _scene_options(experiment), seeds)


def _scene_options(experiment: Experiment) -> dict[str, Any]:
    options: dict[str, Any] = {"objects": experiment.objects, "colors": experiment.colors}
    if experiment.palette:
        options["palette"] = experiment.palette
    if variation := parse_vary(experiment.vary).variations:
        options["variation"] = variation
    return options


def agent_encoder(encoder: Encoder, experiment: Experiment) -> Encoder:
    """The encoder as the agent of an experiment uses it: with the columns that it asks for."""
    encoder = drop_attributes(encoder, experiment.drop_attributes)
    return show_all_particles(encoder) if experiment.net.mean_opacity_mask else encoder


def make_training_env(experiment: Experiment, encoder: Encoder | None = None) -> TabletopVectorEnv:
    """Environments to train in: some episodes may have fewer objects."""
    fraction, num_envs = experiment.training.fewer_objects_fraction, experiment.training.num_envs
    if fraction == 0 or experiment.max_objects == 1:
        return make_env(experiment, num_envs, encoder)
    task, fewest = task_with(experiment.task, 1), 1
    if task is None:
        task, fewest = experiment.task, TASKS[experiment.task].counts[0]
    objects = fewest, experiment.max_objects
    env = make_env(replace(experiment, task=task, objects=objects), num_envs, encoder)
    env.set_fewer_fraction(fraction)
    return env


def make_sampler(
    experiment: Experiment,
    env: TabletopVectorEnv,
    buffer: EpisodeBuffer,
    observer: Observer,
    privileged_observer: Observer | None = None,
    classifier: ObjectClassifier | None = None,
) -> HindsightSampler:
    """The hindsight sampler with the experiment's reward; with a classifier, goals by images."""
    goal_spec = observer.goal_spec()
    if classifier is not None:
        goal_spec = goals_of_objects(goal_spec, observer.layout, classifier)
    elif experiment.hindsight.skip_fallen_goals:
        require(
            env.goal_metric.goal_type == "position",
            f"{env.episode_sampler.task.name} asks for headings, which do not show whether an "
            "object has fallen. Train with --no-skip-fallen-goals.",
        )
        goal_spec = replace(goal_spec, table_half_size=table_half_size(env))
    config = experiment.td3
    context = reward_context(env, observer, classifier)
    reward = make_reward(experiment.training.reward, context)
    per_object = experiment.net.values == "per-entity"
    require(
        per_object or not config.shared_reward,
        "--shared-reward shares the rewards of objects among their values: train with --values "
        "per-entity.",
    )
    particles = experiment.encoder != "" and experiment.entities == "particles"
    require(
        not (per_object and particles and privileged_observer is None)
        or reward.reads != "entities",
        f"The reward '{experiment.training.reward}' has no reward per goal particle, which critics "
        "of particles need for values per entity. Train with --reward true or --values pooled.",
    )
    return HindsightSampler(
        buffer,
        RewardSpec(
            reward, config.gamma, config.potential_baseline, per_object, config.shared_reward
        ),
        goal_spec,
        experiment.hindsight,
        SeedTree(experiment.seed).rng("memory"),
        privileged_observer.goal_spec() if privileged_observer is not None else None,
    )


def make_agent(
    experiment: Experiment,
    observer: Observer,
    privileged_observer: Observer | None = None,
    sensor: PixelSensor | None = None,
) -> TD3Agent:
    """A new agent for what the observer shows; privileged critics have an observer of their own."""
    return TD3Agent(
        experiment.net,
        experiment.td3,
        agent_spec(observer, privileged_observer),
        SeedTree(experiment.seed).integer("weights"),
        sensor,
        experiment.explore.eval_noise_std,
        resolve_device(experiment.training.device),
    )


def make_policy(agent: Agent, env: TabletopVectorEnv, eval_noise: float | None = None) -> Policy:
    """Let an agent act in an environment; `eval_noise` overrides its own evaluation noise."""
    task, objects = env.episode_sampler.task.name, env.episode_sampler.max_objects
    features = features_of(agent.spec.layout)
    observer = make_observer(agent.net, env, None, agent.sensor, agent.device, features)
    trained = agent.spec.state[1] - 1
    same = observer.layout.width == agent.spec.features
    if not same and features == "paper" and objects != trained:
        raise CheckpointError(
            f"This agent has fixed object ids and was trained with {trained} objects; {task} has "
            f"{objects} here."
        )
    if not same:
        raise CheckpointError(
            f"This agent reads {agent.spec.features} features an entity; {task} has "
            f"{observer.layout.width}. Was it trained on positions and asked for headings?"
        )
    if agent.net.arch == "mlp" and observer.state_shape != agent.spec.state:
        raise CheckpointError(
            f"An unstructured network cannot change its number of objects: it was trained with "
            f"{trained}, here are {objects}."
        )
    noise = agent.eval_noise_std if eval_noise is None else eval_noise
    if agent.net.arch == "smorl" and agent.sensor is not None:
        return particle_subgoal_policy(agent, observer, env, noise)
    if agent.net.arch == "smorl":
        return SubgoalPolicy(agent, cast(SubgoalObserver, observer), env.goal_metric, noise)
    if agent.sensor is not None and agent.sensor.finds_objects:
        return FoundObjectPolicy(agent, cast(FoundObjectObserver, observer), noise)
    return AgentPolicy(agent, observer, noise)


def evaluate_agent(
    experiment: Experiment,
    agent: Agent,
    episodes: int,
    seed: int = EVAL_SEED,
    num_envs: int = 48,
    eval_noise: float | None = None,
) -> Evaluation:
    """Evaluate an agent on its own task."""
    encoder = None if agent.sensor is None else agent.sensor.encoder
    env = make_env(experiment, min(num_envs, max(episodes, 1)), encoder)
    try:
        policy = make_policy(agent, env, eval_noise)
        result = evaluate(env, policy, experiment.name, episodes, seed)
        return replace(result, vary=str(parse_vary(experiment.vary)))
    finally:
        env.close()


def evaluate_agent_by_images(
    experiment: Experiment, agent: Agent, episodes: int, num_envs: int = 48
) -> ImageEvaluation:
    """The same by images alone: the true metrics of the environments are not read."""
    assert agent.sensor is not None
    env = make_env(experiment, min(num_envs, max(episodes, 1)), agent.sensor.encoder)
    try:
        policy = cast(AgentPolicy, make_policy(agent, env))  # no agent of images has another
        recorder = object_recorder(experiment, env, policy.observer, agent.sensor)
        assert recorder is not None
        return evaluate_by_images(env, policy, recorder, experiment.name, episodes, EVAL_SEED)
    finally:
        env.close()


def table_half_size(env: TabletopVectorEnv) -> NDArray[np.float32]:
    """Half the table's sides, (2,)."""
    table = env.state_reader.table
    return np.array([table.x / 2, table.y / 2], np.float32)


def agent_spec(observer: Observer, privileged_observer: Observer | None) -> ObservationSpec:
    """What an agent observes; privileged critics have an observer of their own."""
    spec = observation_spec(observer)
    if privileged_observer is None:
        return spec
    return replace(spec, critic=observation_spec(privileged_observer))


def observation_spec(observer: Observer) -> ObservationSpec:
    """What an agent observes through an observer."""
    return ObservationSpec(
        state=observer.state_shape, goal=observer.goal_shape, layout=observer.layout
    )
