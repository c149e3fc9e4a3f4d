"""A classifier of objects from tags, and its accuracy on images that it was not fitted to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, TABLE_XY
from jostle.core.errors import require
from jostle.core.object_classifier import ObjectClassifier, save_classifier
from jostle.core.protocols import Encoder
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.catalog import oracle
from jostle.oracles.policy import RandomPolicy
from jostle.probing.motion_labels import OBJECT, OTHER, UNKNOWN, Labels
from jostle.probing.object_classifier import accuracy, fit_classifier
from jostle.rollout.labeled_particles import LabeledParticles, RandomlyDisturbed, watch_labeled
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.table_projection import UNIT, TableProjection
from jostle.scene.cameras import resolve_cameras
from jostle.training.fit_objects import feature_distances
from jostle.training.tag_images import TagConfig, TagImages, Tags

_JUDGED_SEED = 6_000_000
"""First episode that classifiers are judged on: none is tagged, and no agent trains on it."""
_JUDGED_EPISODES, _JUDGED_STEPS = 8, 20


def fit_tags(images: TagImages, tags: Tags, seed: int = 0) -> ObjectClassifier:
    """Fit a classifier to the tags of the images that are done."""
    labels = tag_labels(images, tags)
    for label, name, remedy in (
        (OBJECT, "object", "Click the particles that are objects"),
        (OTHER, "other particle", "Leave out those of the arm and the background"),
    ):
        require(
            bool((labels == label).any()),
            f"The tags name no {name}: both kinds are needed. {remedy}, in some images at least.",
        )
    return fit_labels(images, labels, seed)


def segmentation_tags(encoder: Encoder, images: TagImages) -> Tags:
    """Tags by the segmentation instead of a person: what perfect tagging would give."""
    config = images.config
    env, observer = _watched(encoder, config, config.scenes)
    try:
        steps = max(images.steps)
        watched = watch_labeled(env, observer, RandomPolicy(config.seed), steps, images.seeds[0])
    finally:
        env.close()
    on_object = watched.on_object[np.arange(config.scenes), list(images.steps)]  # (S, V, K)
    tags = Tags.empty(config.images)
    for image, place in enumerate(images.places):
        tags.objects[image] = {index for index in images.visible(image) if on_object[place][index]}
        tags.done[image] = True
    return tags


def tag_labels(images: TagImages, tags: Tags) -> Labels:
    """Labels of all particles, (S, V, K); those of images that are not done are unknown."""
    visible = images.particles.visible
    labels = np.full(visible.shape, UNKNOWN, np.int64)
    for image, (scene, view) in enumerate(images.places):
        if tags.done[image]:
            labels[scene, view, visible[scene, view]] = OTHER
            labels[scene, view, sorted(tags.objects[image])] = OBJECT
    return labels


def fit_labels(images: TagImages, labels: Labels, seed: int) -> ObjectClassifier:
    """Fit a classifier to labels (S, V, K) of the images' particles."""
    values, layout = images.particles.values, images.layout
    features, places = values[..., layout[FEATURES]], values[..., layout[TABLE_XY]] * UNIT
    alike, different = feature_distances(
        features[:, None], places[:, None], (labels == OBJECT)[:, None]
    )
    clear = labels != UNKNOWN
    return fit_classifier(
        features[clear], labels[clear], alike, different, images.encoder, seed, noisy=False
    )


@dataclass(frozen=True)
class HeldOut:
    """Particles that a classifier was not fitted to, and which of them are on objects."""

    features: NDArray[np.float32]
    """Features of the particles on objects and on the arm, (R, F)."""
    on_object: NDArray[np.bool_]
    """Which of them are on objects by the segmentation, (R,)."""

    def accuracy(self, classifier: ObjectClassifier) -> dict[str, float]:
        """Fractions of the objects and of the others that are classified correctly."""
        return accuracy(classifier, self.features, self.on_object)


def held_out(encoder: Encoder, config: TagConfig) -> HeldOut:
    """Episodes of the task that are never tagged; segmentation says what each particle shows."""
    env, observer = _watched(encoder, config, _JUDGED_EPISODES)
    try:
        policy = RandomlyDisturbed(oracle(env.episode_sampler.task), 0)
        watched = watch_labeled(env, observer, policy, _JUDGED_STEPS, _JUDGED_SEED)
    finally:
        env.close()
    return judged_particles(watched, observer)


def judged_particles(watched: LabeledParticles, observer: PixelObserver) -> HeldOut:
    """The particles that are judged, of all episodes and views."""
    features = watched.particles.values[..., observer.layout[FEATURES]]
    return HeldOut(features[watched.judged], watched.on_object[watched.judged])


def _watched(
    encoder: Encoder, config: TagConfig, num_envs: int
) -> tuple[TabletopVectorEnv, PixelObserver]:
    """Environments that show the scenes of a config, and who sees their particles."""
    size = encoder.config.image_size
    projection = TableProjection(resolve_cameras(config.cameras), size)
    env = TabletopVectorEnv(num_envs, config.task, image_size=size, **config.env_kwargs())
    return env, PixelObserver(encoder, config.cameras, projection)


def write_fit(
    out: Path, classifier: ObjectClassifier, tags: Tags, scores: dict[str, float]
) -> dict[str, Any]:
    """Write a classifier with what it was fitted to; returns that."""
    fitted = {
        "images": sum(tags.done),
        "objects": sum(
            len(tagged) for tagged, done in zip(tags.objects, tags.done, strict=True) if done
        ),
        **{name: round(value, 4) for name, value in scores.items()},
    }
    save_classifier(out, classifier, {"tags": fitted})
    return fitted
