"""Images whose particles are tagged by hand, and the tags: made again from seeds, never stored.

Shapes: S scenes, V views, K particles.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.checks import check_int
from jostle.core.entities import FEATURES, POSITION, Entities, EntityLayout
from jostle.core.errors import BadValueError, require
from jostle.core.files import write_json
from jostle.core.protocols import Encoder
from jostle.encoders.saving import encoder_hash
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.policy import RandomPolicy
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.rollout import Step, rollout
from jostle.rollout.table_projection import TableProjection
from jostle.runs.config import read_config
from jostle.scene.cameras import resolve_cameras

MAX_IMAGES = 200
"""Images that can be tagged in one file."""
_KIND, _FORMAT = "jostle tags", 1
_FIRST_SEED, _SEEDS = 5_000_000, 1000
"""First episode of seed 0, and how many episodes each seed has."""
_LAST_STEP = 12
"""Random actions before an image is taken, at most: the arm is in another place in each."""


@dataclass(frozen=True, kw_only=True)
class TagConfig:
    """Which images are tagged."""

    task: str = "NCubes"
    """Task of the catalog whose objects are shown."""
    objects: tuple[int, int] | None = None
    """Least and largest number of objects; by default 1 to 6 of NCubes, else the task's own."""
    colors: str = "random"
    """Colors of the objects: fixed, or random."""
    images: int = 20
    """Number of images; every scene is shown by each camera."""
    cameras: tuple[str, ...] = ("front", "side")
    """Cameras, those that the encoder was trained on."""
    seed: int = 0
    """Seed of the scenes."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        check_int("images", self.images, 1)
        check_int("seed", self.seed, 0)
        require(
            self.images <= MAX_IMAGES,
            f"At most {MAX_IMAGES} images are tagged at once, not {self.images}: about 20 do.",
        )
        require(len(self.cameras) > 0, "At least one camera is needed.")

    @property
    def scenes(self) -> int:
        """Number of scenes."""
        return -(-self.images // len(self.cameras))

    def env_kwargs(self) -> dict[str, Any]:
        """Options of the environments that show the scenes."""
        objects = self.objects
        if objects is None and self.task == "NCubes":
            objects = (1, 6)
        return {
            "objects": objects,
            "colors": self.colors,
            "obs_type": "both",
            "cameras": self.cameras,
            "autoreset_mode": "Disabled",
            "threads": 1,
        }


@dataclass(frozen=True)
class TagImages:
    """Images with their particles."""

    config: TagConfig
    """What they were made from."""
    encoder: str
    """Hash of the encoder."""
    layout: EntityLayout
    """Columns of the particles."""
    frames: NDArray[np.uint8]
    """Images, (S, V, H, W, 3)."""
    particles: Entities
    """Their particles with positions on the table, (S, V, K, D)."""
    seeds: tuple[int, ...]
    """Seeds of the episodes."""
    steps: tuple[int, ...]
    """Actions before each image was taken."""

    @property
    def places(self) -> list[tuple[int, int]]:
        """Scene and view of each image, in the order in which they are tagged."""
        views = range(len(self.config.cameras))
        every = [(scene, view) for scene in range(self.config.scenes) for view in views]
        return every[: self.config.images]

    def visible(self, image: int) -> list[int]:
        """Numbers of the visible particles of an image."""
        found: list[int] = np.flatnonzero(self.particles.visible[self.places[image]]).tolist()
        return found

    def frame_hash(self, image: int) -> str:
        """Hash of the pixels of an image."""
        frame = np.ascontiguousarray(self.frames[self.places[image]])
        return hashlib.sha256(frame.tobytes()).hexdigest()[:16]


def make_tag_images(encoder: Encoder, config: TagConfig) -> TagImages:
    """Play random actions, keep one moment of each episode, and encode it."""
    size = encoder.config.image_size
    projection = TableProjection(resolve_cameras(config.cameras), size)
    require(
        FEATURES in encoder.layout and POSITION in encoder.layout,
        "Only particles can be tagged: their features show whether they are objects. Use an "
        "encoder 'dlp', such as dlp-6cubes.",
    )
    observer = PixelObserver(encoder, config.cameras, projection)
    rng = np.random.default_rng(config.seed)
    moments = rng.integers(0, _LAST_STEP + 1, config.scenes)
    first, step_number = _FIRST_SEED + _SEEDS * config.seed, 0
    shape = config.scenes, len(config.cameras), size, size, 3
    frames = np.zeros(shape, np.uint8)

    def keep(step: Step) -> None:
        nonlocal step_number
        for view, camera in enumerate(config.cameras):
            now = moments == step_number
            frames[now, view] = step.observation[camera][now]
        step_number += 1

    env = TabletopVectorEnv(config.scenes, config.task, image_size=size, **config.env_kwargs())
    try:
        rollout(env, RandomPolicy(config.seed), _LAST_STEP, seed=first, on_step=keep)
    finally:
        env.close()
    shown = {camera: frames[:, view] for view, camera in enumerate(config.cameras)}
    return TagImages(
        config=config,
        encoder=encoder_hash(encoder),
        layout=observer.layout,
        frames=frames,
        particles=observer.state(shown),
        seeds=tuple(range(first, first + config.scenes)),
        steps=tuple(moments.tolist()),
    )


@dataclass
class Tags:
    """Which particles of each image show objects."""

    objects: list[set[int]]
    """Numbers of the tagged particles of each image."""
    done: list[bool]
    """Images that were looked at."""

    @classmethod
    def empty(cls, images: int) -> "Tags":
        """No tags yet."""
        return cls([set() for _ in range(images)], [False] * images)


def write_tags(path: Path, tags: Tags, images: TagImages, encoder: str) -> None:
    """Write tags: seeds and hashes, no pixels; `encoder` is the name of the encoder."""
    rows = [
        {
            "episode": images.seeds[scene],
            "step": images.steps[scene],
            "camera": images.config.cameras[view],
            "frame": images.frame_hash(image),
            "done": tags.done[image],
            "objects": sorted(tags.objects[image]),
        }
        for image, (scene, view) in enumerate(images.places)
    ]
    content = {
        "kind": _KIND,
        "format": _FORMAT,
        "encoder": {"name": encoder, "hash": images.encoder},
        "config": asdict(images.config),
        "images": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, content)


def read_tag_config(path: Path) -> tuple[str, TagConfig]:
    """Name of the encoder, and which images the tags of a file are for."""
    content = _read(path)
    try:
        config = read_config(TagConfig, content["config"], "the tagged images")
        return str(content["encoder"]["name"]), config
    except (KeyError, TypeError, AttributeError) as error:
        raise BadValueError(f"{path} does not say which images were tagged: {error!r}.") from error


def read_tags(path: Path, images: TagImages) -> Tags:
    """Read the tags of these images; those of another encoder or of other images are refused."""
    content = _read(path)
    try:
        digest, rows = content["encoder"]["hash"], content["images"]
        require(
            digest == images.encoder,
            f"The tags in {path} are of particles of an encoder with the hash {digest}, not "
            f"{images.encoder}. Name that encoder with --encoder, or tag anew in another file.",
        )
        hashes = [row["frame"] for row in rows]
        tags = Tags([set(row["objects"]) for row in rows], [bool(row["done"]) for row in rows])
    except (KeyError, TypeError) as error:
        raise BadValueError(f"{path} holds no tags that can be read: {error!r}.") from error
    count = images.config.images
    if len(hashes) != count or hashes != [images.frame_hash(index) for index in range(count)]:
        raise BadValueError(
            f"The tags in {path} are for other images than those made here: another task, seed or "
            "number of images, or a machine that renders differently. Give the same options as "
            "when they were made, on the same machine, or tag anew in another file."
        )
    for index, tagged in enumerate(tags.objects):
        require(
            tagged <= set(images.visible(index)),
            f"{path} tags particles of image {index + 1} that are not visible in it: "
            f"{sorted(tagged - set(images.visible(index)))}. Was it edited?",
        )
    return tags


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
        kind, version = content["kind"], content["format"]
    except (KeyError, TypeError, IndexError) as error:
        raise BadValueError(f"{path} holds no tags: 'jostle tag' writes such files.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadValueError(f"{path} cannot be read as tags: {error}.") from error
    require(kind == _KIND, f"{path} holds no tags: 'jostle tag' writes such files.")
    require(
        version == _FORMAT,
        f"{path} holds tags of format {version!r}; this version reads {_FORMAT}.",
    )
    return content
