"""Learn which particles show objects, from random actions alone: no ground truth is read."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, POSITION, TABLE_XY, Entities
from jostle.core.errors import require
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.particles import pixel_positions
from jostle.core.protocols import Encoder
from jostle.encoders.saving import encoder_hash
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.policy import RandomPolicy
from jostle.probing.motion_labels import OBJECT, motion_labels
from jostle.probing.object_classifier import fit_classifier
from jostle.rollout.collector import stack_steps
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.rollout import rollout
from jostle.rollout.table_projection import UNIT, TableProjection
from jostle.scene.cameras import resolve_cameras
from jostle.scene.spec import CUBE_SIDE
from jostle.tasks.vary import parse_vary


@dataclass(frozen=True, kw_only=True)
class FitObjectsConfig:
    """How many random steps the classifier of objects is learned from."""

    task: str = "NCubes"
    """Task of the catalog whose objects are watched."""
    objects: tuple[int, int] = (1, 6)
    """Least and largest number of objects."""
    colors: str = "random"
    """Colors of the objects: fixed, or random."""
    vary: tuple[str, ...] = ()
    """What differs from the task, as in 'jostle evaluate'."""
    episodes: int = 24
    """Episodes; each has other places of the objects."""
    steps: int = 13
    """Random actions in each of them."""
    seed: int = 0
    """Seed of episodes, actions and initial weights."""


def fit_object_classifier(
    encoder: Encoder, cameras: tuple[str, ...], config: FitObjectsConfig
) -> ObjectClassifier:
    """Play random actions, label particles by their motion, and fit a classifier of features."""
    size = encoder.config.image_size
    specs = resolve_cameras(cameras)
    observer = PixelObserver(encoder, cameras, TableProjection(specs, size))
    require(
        FEATURES in encoder.layout and POSITION in encoder.layout,
        "Only particles have features of their own that show whether they are objects: use an "
        "encoder 'dlp'.",
    )
    env = TabletopVectorEnv(
        config.episodes, config.task, objects=config.objects, colors=config.colors,
        obs_type="both", cameras=cameras, image_size=size, autoreset_mode="Disabled", threads=1,
        variation=parse_vary(config.vary).variations,
    )  # fmt: skip
    try:
        particles = watch_random_actions(env, observer, config.steps, config.seed)
    finally:
        env.close()
    labels = motion_labels(pixel_positions(particles.values, size), particles.visible)
    features = particles.values[..., observer.layout[FEATURES]]
    places = particles.values[..., observer.layout[TABLE_XY]] * UNIT
    alike, different = feature_distances(features, places, labels == OBJECT)
    shown = particles.visible
    return fit_classifier(
        features[shown], labels[shown], alike, different, encoder_hash(encoder), config.seed
    )


def watch_random_actions(
    env: TabletopVectorEnv, observer: PixelObserver, steps: int, seed: int
) -> Entities:
    """Particles (E, T+1, V, K, D) of episodes with random actions, one per environment."""
    seen: list[Entities] = []
    rollout(
        env, RandomPolicy(seed), steps, seed=seed,
        on_step=lambda step: seen.append(observer.state(step.observation)),
    )  # fmt: skip
    return stack_steps(seen)


def feature_distances(
    features: NDArray[np.float32], places: NDArray[np.float32], objects: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Squared distances of the features of one object's particles, and of different objects'.

    Args:
        features: (E, T, V, K, F).
        places: On the table in meters, (E, T, V, K, 2).
        objects: Which particles show objects, (E, T, V, K).
    """
    alike, different = [], []
    flat = objects.reshape(-1, objects.shape[2] * objects.shape[3])  # (E*T, V*K)
    for chosen, look, place in zip(
        flat,
        features.reshape(*flat.shape, -1),
        places.reshape(*flat.shape, 2),
        strict=True,
    ):
        first, second = np.triu_indices(int(chosen.sum()), 1)
        gap = ((look[chosen][first] - look[chosen][second]) ** 2).sum(-1)
        apart = np.linalg.norm(place[chosen][first] - place[chosen][second], axis=-1)
        alike.append(gap[apart < CUBE_SIDE / 2])
        different.append(gap[apart > 1.5 * CUBE_SIDE])
    return np.concatenate(alike), np.concatenate(different)
