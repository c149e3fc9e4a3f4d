"""The things a training works with, put together in one place."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.agents.build import Shapes
from jostle.agents.td3 import TD3Agent
from jostle.core.checkpoint import CheckpointError
from jostle.core.errors import require
from jostle.core.protocols import Policy
from jostle.core.seeding import SeedTree
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.examine import Examination, examine
from jostle.nets.config import NetConfig
from jostle.particles.catalog import Model
from jostle.particles.dlp import DLP
from jostle.replay.ring import EpisodeRing
from jostle.replay.sampler import HindsightSampler, Judge
from jostle.rollout.grounding import Grounding
from jostle.rollout.learned import LearnedPolicy
from jostle.rollout.observer import Observer, StateObserver
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.subgoals import SubgoalObserver, SubgoalPolicy
from jostle.training.experiment import Experiment

EXAM_SEED = 1_000_000
"""First episode of examinations while training: training itself never sees these seeds."""


@dataclass
class Workshop:
    """Environment, eyes, memory, agent and randomness of one training."""

    env: TabletopVectorEnv
    observer: Observer
    ring: EpisodeRing
    sampler: HindsightSampler
    agent: TD3Agent
    rng: np.random.Generator
    steps: int
    """Length of a training episode."""
    knower: StateObserver | None = None
    """Who tells critics the true state, in the lane 'privileged-critic'."""


def open_workshop(experiment: Experiment, encoder: Model | None = None) -> Workshop:
    """Build everything from the experiment and its seed; `encoder` is what it names."""
    training, seeds = experiment.training, SeedTree(experiment.seed)
    if training.threads:
        torch.set_num_threads(training.threads)
    env = make_env(experiment, training.copies, encoder)
    env.reset(seed=seeds.integer("episodes"))
    codes = seeds.rng("codes") if training.random_codes else None
    observer = make_observer(experiment.net, env, codes, encoder, experiment.cameras)
    privileged = training.lane == "privileged-critic"
    knower = StateObserver(env.reader, training.copies, None) if privileged else None
    steps = training.horizon or env.recipe.task.horizon(env.recipe.most)
    require(
        experiment.hindsight.photos <= steps,
        f"photos are taken every {experiment.hindsight.photos} steps, but an episode has {steps}.",
    )
    on_table = experiment.hindsight.on_table
    ring = EpisodeRing(max(training.memory // steps, training.copies))
    sampler = HindsightSampler(
        ring,
        Judge(env.measure.reward, experiment.td3.gamma, experiment.td3.gains),
        replace(observer.goal_form(), edge=_goal_edge(env) if on_table else None),
        experiment.hindsight,
        seeds.rng("memory"),
        knower.goal_form() if knower is not None else None,
    )
    agent = make_agent(experiment, observer, knower)
    agent.eyes, agent.cameras = encoder, experiment.cameras
    return Workshop(env, observer, ring, sampler, agent, seeds.rng("exploration"), steps, knower)


def table_edge(env: TabletopVectorEnv) -> NDArray[np.float32]:
    """Half the table's sides, (2,)."""
    table = env.reader.table
    return np.array([table.x / 2, table.y / 2], np.float32)


def _goal_edge(env: TabletopVectorEnv) -> NDArray[np.float32]:
    """The same, where goals are places."""
    require(
        env.measure.kind == "position",
        f"{env.recipe.task.name} asks for headings, which do not tell whether an object has fallen "
        "off. Train with --no-on-table.",
    )
    return table_edge(env)


def make_observer(
    net: NetConfig,
    env: TabletopVectorEnv,
    codes: np.random.Generator | None,
    encoder: Model | None,
    cameras: tuple[str, ...] = (),
) -> Observer:
    """The observer that goes with a network, or with an encoder and its cameras."""
    if encoder is not None:
        ground = make_grounding(env, encoder, cameras) if net.ground else None
        return PixelObserver(encoder, cameras, env.num_envs, ground)
    require(not net.ground, "ground tells where what cameras see would lie; this sees true state.")
    kind = SubgoalObserver if net.kind == "smorl" else StateObserver
    return kind(env.reader, env.num_envs, codes)


def make_grounding(env: TabletopVectorEnv, encoder: Model, cameras: tuple[str, ...]) -> Grounding:
    """Know the cameras of an environment as they stand before anything varies."""
    require(
        isinstance(encoder, DLP),
        "Only particles have places in a picture that can be taken to the table: use an encoder "
        "'dlp', or --no-ground.",
    )
    known = {camera.name: camera for camera in env.recipe.look.cameras}
    return Grounding([known.get(name) for name in cameras], encoder.config.image)


def policy_for(agent: TD3Agent, env: TabletopVectorEnv, restless: float | None = None) -> Policy:
    """Let an agent act in an environment, with any number of objects if it is made for sets."""
    observer = make_observer(agent.net, env, None, agent.eyes, agent.cameras)
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
    unrest = agent.restless if restless is None else restless
    if isinstance(observer, SubgoalObserver):
        return SubgoalPolicy(agent, observer, env.measure, unrest)
    return LearnedPolicy(agent, observer, unrest)


def make_env(
    experiment: Experiment, copies: int, encoder: Model | None = None
) -> TabletopVectorEnv:
    """Build copies of the experiment's task; frames are as large as the encoder wants them."""
    seen: dict[str, Any] = {"obs_type": "both", "cameras": experiment.cameras}
    if encoder is not None:
        seen["image_size"] = encoder.config.image
    return TabletopVectorEnv(
        copies,
        experiment.task,
        objects=experiment.objects,
        autoreset_mode="Disabled",
        threads=experiment.training.threads,
        colors=experiment.colors,
        **(seen if experiment.encoder else {}),
    )


def make_agent(
    experiment: Experiment, observer: Observer, knower: Observer | None = None
) -> TD3Agent:
    """Build a fresh agent for what the observer shows; critics see what `knower` shows."""
    judged = _shapes(knower) if knower is not None else None
    seed = SeedTree(experiment.seed).integer("weights")
    agent = TD3Agent(experiment.net, experiment.td3, _shapes(observer), seed, judged)
    agent.restless = experiment.explore.restless
    return agent


def _shapes(observer: Observer) -> Shapes:
    return Shapes(state=observer.state_shape, goal=observer.goal_shape, codes=observer.code_width)


def examine_agent(
    experiment: Experiment,
    agent: TD3Agent,
    episodes: int,
    seed: int = EXAM_SEED,
    copies: int = 48,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Examination:
    """Examine an agent on its own task, as it is used; `limit` bounds the number of objects."""
    env = make_env(experiment, min(copies, max(episodes, 1)), agent.eyes)
    if limit is not None:
        env.limit_objects(limit)
    return examine(env, policy_for(agent, env), experiment.name, episodes, seed, progress)
