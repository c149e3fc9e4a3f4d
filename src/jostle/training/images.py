"""Training by images: the classifier of objects of a run, and what follows objects with it."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from jostle.agents.base import PixelSensor
from jostle.core.checkpoint import CheckpointError
from jostle.core.entities import FEATURES, POSITION, TABLE_XY, EntityLayout
from jostle.core.errors import require
from jostle.core.object_classifier import ObjectClassifier, load_classifier, save_classifier
from jostle.core.protocols import Agent, Encoder, GoalSpec, Observer
from jostle.encoders.saving import encoder_hash
from jostle.envs.vector import TabletopVectorEnv
from jostle.rewards.catalog import (
    IMAGE_REWARDS,
    RewardContext,
    image_context,
    make_reward,
    make_row_reward,
    make_subgoal_reward,
    make_table_reward,
)
from jostle.rollout.collector import ObjectFinders
from jostle.rollout.found_object_observer import FoundObjectObserver
from jostle.rollout.found_object_recorder import FoundObjectRecorder
from jostle.rollout.object_recorder import FoundTies, ObjectRecorder, ObjectRules, RecordsObjects
from jostle.rollout.object_ties import ObjectTies
from jostle.rollout.object_tracks import ObjectTracker
from jostle.rollout.particle_subgoals import (
    ParticleSubgoalObserver,
    ParticleSubgoalPolicy,
    keep_objects,
)
from jostle.rollout.table_projection import COLUMNS, TableProjection
from jostle.runs.run_dir import RunDir
from jostle.scene.spec import CameraSpec
from jostle.training.experiment import Experiment
from jostle.training.fit_objects import FitObjectsConfig, fit_object_classifier


def new_classifier(experiment: Experiment, encoder: Encoder | None) -> ObjectClassifier | None:
    """The classifier of a new run: of a file, or fitted to random actions; None if not needed."""
    if not experiment.finds_objects:
        return None
    assert encoder is not None
    _check_encoder(experiment, encoder)
    if not experiment.object_classifier:
        config = FitObjectsConfig()
        if experiment.vary:  # a color set may have few colors
            objects = 1, min(experiment.max_objects, config.objects[1])
            config = replace(config, objects=objects, vary=experiment.vary)
        return fit_object_classifier(encoder, experiment.cameras, config)
    path = Path(experiment.object_classifier)
    require(path.is_file(), f"There is no file {path}: name a classifier of objects.")
    return _load(path, encoder)


def run_classifier(
    run: RunDir, experiment: Experiment, encoder: Encoder | None
) -> ObjectClassifier | None:
    """The classifier that a run has stored; None if it needs none."""
    if not experiment.finds_objects:
        return None
    assert encoder is not None
    if not run.object_classifier.is_file():
        raise CheckpointError(
            f"The run in {run.path} has lost its classifier of objects "
            f"({run.object_classifier.name}): restore the file, or start a new run."
        )
    return _load(run.object_classifier, encoder)


def store_classifier(run: RunDir, classifier: ObjectClassifier | None) -> None:
    """Keep a copy in the run: it can resume wherever the original went."""
    if classifier is not None:
        save_classifier(run.object_classifier, classifier, {})


def reward_context(
    env: TabletopVectorEnv, observer: Observer, classifier: ObjectClassifier | None
) -> RewardContext:
    """What a reward may know of a task and, with a classifier, of the agent's images."""
    context = RewardContext(metric=env.goal_metric, farthest=env.state_reader.farthest)
    if classifier is None:
        return context
    if FEATURES not in observer.layout:  # objects, which were found among particles
        return replace(context, found=observer.layout)
    features = observer.layout[FEATURES]
    images = image_context(
        observer.layout, features.stop - features.start, observer.state_shape[0], classifier
    )
    return replace(context, images=images)


def make_finders(
    experiment: Experiment,
    env: TabletopVectorEnv,
    observer: Observer,
    sensor: PixelSensor | None,
    privileged: bool,
) -> ObjectFinders:
    """What finds the objects of these environments among particles."""
    recorder = object_recorder(experiment, env, observer, sensor)
    particles = sensor is not None and not sensor.finds_objects
    if not particles or privileged or experiment.net.values != "per-entity":
        return ObjectFinders(None, recorder)
    if experiment.training.reward in IMAGE_REWARDS:
        return ObjectFinders(FoundTies(cast(ObjectRecorder, recorder)), recorder)
    assert sensor is not None
    return ObjectFinders(object_ties(env, sensor), recorder)


def object_ties(env: TabletopVectorEnv, sensor: PixelSensor) -> ObjectTies:
    """What ties goal particles to objects, for critics with a value per goal particle."""
    require(
        env.goal_metric.goal_type == "position",
        f"{env.episode_sampler.task.name} asks for headings, and one particle of an object does "
        "not show its heading. Train with --values pooled, or --method td3-privileged.",
    )
    size = sensor.encoder.config.image_size
    return ObjectTies(calibrated_cameras(env, sensor), size, sensor.encoder.layout)


def object_recorder(
    experiment: Experiment, env: TabletopVectorEnv, observer: Observer, sensor: PixelSensor | None
) -> RecordsObjects | None:
    """What follows the objects of these environments; None without a classifier."""
    if sensor is None or sensor.classifier is None:
        return None
    context = reward_context(env, observer, sensor.classifier)
    table = env.state_reader.table
    half_size = np.array([table.x / 2, table.y / 2], np.float32)
    if sensor.finds_objects:
        found, reward = cast(FoundObjectObserver, observer), make_row_reward(context)
        return FoundObjectRecorder(found, reward, env.goal_metric.radius, half_size)
    projection, layout = None, observer.layout
    if TABLE_XY not in layout:
        projection = table_projection(env, sensor)
        layout = layout.plus(TABLE_XY, COLUMNS)
    tracker = ObjectTracker(sensor.classifier, layout, len(sensor.cameras))
    rules = ObjectRules(make_table_reward(context), env.goal_metric.radius, half_size)
    keep_states = make_reward(experiment.training.reward, context).reads == "objects"
    return ObjectRecorder(tracker, rules, projection, keep_states)


def goals_of_objects(
    spec: GoalSpec, layout: EntityLayout, classifier: ObjectClassifier
) -> GoalSpec:
    """Goals of hindsight without the particles of the arm, as true goals show it retracted."""
    if FEATURES not in layout:  # objects, which were found among particles
        return spec
    return replace(spec, keep=partial(keep_objects, layout=layout, classifier=classifier))


def particle_subgoal_policy(
    agent: Agent, observer: Observer, env: TabletopVectorEnv, eval_noise_std: float
) -> ParticleSubgoalPolicy:
    """SMORL's meta-policy from images; a reached sub-goal is one within the L1 distance."""
    context = reward_context(env, observer, agent.sensor.classifier)
    subgoals = cast(ParticleSubgoalObserver, observer)
    return ParticleSubgoalPolicy(agent, subgoals, make_subgoal_reward(context), eval_noise_std)


def table_projection(env: TabletopVectorEnv, sensor: PixelSensor) -> TableProjection:
    """Know the cameras of an environment as they are before any variation."""
    require(
        POSITION in sensor.encoder.layout,
        "Only particles have positions in an image that project to the table: use an encoder "
        "'dlp', or --no-table-xy.",
    )
    return TableProjection(calibrated_cameras(env, sensor), sensor.encoder.config.image_size)


def calibrated_cameras(env: TabletopVectorEnv, sensor: PixelSensor) -> list[CameraSpec | None]:
    """Cameras of an agent's views as they are before any variation; None: missing."""
    cameras = {camera.name: camera for camera in env.episode_sampler.appearance.cameras}
    return [cameras.get(name) for name in sensor.cameras]


def _check_encoder(experiment: Experiment, encoder: Encoder) -> None:
    require(
        FEATURES in encoder.layout and POSITION in encoder.layout,
        f"Objects are found among particles, which have positions and features, but the entities "
        f"of the encoder '{experiment.encoder}' have "
        f"{', '.join(name for name, _ in encoder.layout.groups)}. Use an encoder 'dlp', such as "
        "dlp-6cubes.",
    )


def _load(path: Path, encoder: Encoder) -> ObjectClassifier:
    classifier = load_classifier(path)
    classifier.check_encoder(encoder_hash(encoder))
    return classifier
