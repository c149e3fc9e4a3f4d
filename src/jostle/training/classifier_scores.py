"""How well the classifier of objects does: learned from motion, beside tagged, in many scenes.

Segmentation judges. It also stands in for the person who tags: such tags have no mistakes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jostle.core.object_classifier import ObjectClassifier
from jostle.core.protocols import Encoder
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.catalog import oracle
from jostle.rollout.labeled_particles import RandomlyDisturbed, watch_labeled
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.table_projection import TableProjection
from jostle.scene.cameras import resolve_cameras
from jostle.training.fit_objects import FitObjectsConfig, fit_object_classifier
from jostle.training.fit_tags import HeldOut, fit_tags, judged_particles, segmentation_tags
from jostle.training.tag_images import TagConfig, make_tag_images

SCENES: dict[str, dict[str, Any]] = {
    "1 cube": {"task": "NCubes", "objects": 1, "colors": "random"},
    "3 cubes": {"task": "NCubes", "objects": 3, "colors": "random"},
    "6 cubes": {"task": "NCubes", "objects": 6, "colors": "random"},
    "12 cubes": {"task": "NCubes", "objects": 12, "colors": "hues"},
    "adjacent goals": {"task": "AdjacentGoals"},
    "3 cubes, held-out colors": {"task": "NCubes", "objects": 3, "variation": "color=held-out"},
    "3 stars": {"task": "NCubes", "objects": 3, "colors": "random", "variation": "shape=star"},
    "3 cuboids": {"task": "NCubes", "objects": 3, "colors": "random", "variation": "size=1.5x1"},
}
"""Scenes by name: task, and options of its environments."""
SEED = 4_000_000
"""First episode of the scenes: no classifier is fitted to them."""


@dataclass(frozen=True)
class SceneScore:
    """Accuracy of the two classifiers in one scene."""

    scene: str
    """Name of the scene."""
    particles: int
    """Judged particles: those whose center lies on an object or on the arm."""
    motion: dict[str, float]
    """Fractions of objects kept and of others left out: learned from motion, without tags."""
    tagged: dict[str, float]
    """The same of the classifier that was fitted to 20 tagged images."""


def classifier_table(scores: list[SceneScore]) -> str:
    """The scores as a table."""
    title = "| scene | particles | objects kept | others left out | tagged: objects kept | others |"
    lines = [title, "|---|---|---|---|---|---|"]
    for score in scores:
        cells = [
            f"{part[key]:.3f}"
            for part in (score.motion, score.tagged)
            for key in ("object_accuracy", "other_accuracy")
        ]
        lines.append(f"| {score.scene} | {score.particles} | {' | '.join(cells)} |")
    return "\n".join(lines)


def score_classifiers(
    encoder: Encoder, cameras: tuple[str, ...], episodes: int, steps: int
) -> Iterator[SceneScore]:
    """Fit both classifiers, and judge them in every scene."""
    motion = fit_object_classifier(encoder, cameras, FitObjectsConfig())
    tagged = fit_simulated_tags(encoder, cameras)
    for name, scene in SCENES.items():
        watched = watch_scene(encoder, cameras, scene, episodes, steps)
        yield SceneScore(
            name, len(watched.on_object), watched.accuracy(motion), watched.accuracy(tagged)
        )


def fit_simulated_tags(encoder: Encoder, cameras: tuple[str, ...]) -> ObjectClassifier:
    """Fit to the images of `jostle tag`, tagged by the segmentation."""
    images = make_tag_images(encoder, TagConfig(cameras=cameras))
    return fit_tags(images, segmentation_tags(encoder, images))


def scene_env(
    scene: Mapping[str, Any], encoder: Encoder, cameras: tuple[str, ...], episodes: int
) -> TabletopVectorEnv:
    """Environments that show a scene."""
    options = {key: value for key, value in scene.items() if key != "task"}
    return TabletopVectorEnv(
        episodes, scene["task"], obs_type="both", cameras=cameras,
        image_size=encoder.config.image_size, autoreset_mode="Disabled", threads=1, **options,
    )  # fmt: skip


def watch_scene(
    encoder: Encoder,
    cameras: tuple[str, ...],
    scene: Mapping[str, Any],
    episodes: int,
    steps: int,
) -> HeldOut:
    """Particles along episodes of the oracle with random actions among its own."""
    env = scene_env(scene, encoder, cameras, episodes)
    projection = TableProjection(resolve_cameras(cameras), encoder.config.image_size)
    observer = PixelObserver(encoder, cameras, projection)
    try:
        policy = RandomlyDisturbed(oracle(env.episode_sampler.task), 0)
        watched = watch_labeled(env, observer, policy, steps, SEED)
    finally:
        env.close()
    return judged_particles(watched, observer)
