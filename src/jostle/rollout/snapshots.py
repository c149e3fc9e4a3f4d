"""Collecting frames: episodes by number, drawn from all cameras, written shard by shard."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.rundir import provenance
from jostle.core.seeding import SeedTree
from jostle.envs.vector import TabletopVectorEnv
from jostle.frames.manifest import plain
from jostle.frames.shards import SCENE, FrameFolder, Pen, truth_dtype
from jostle.frames.truth import ABSENT
from jostle.oracles.catalog import oracle
from jostle.pixels.labels import FIRST_OBJECT, whole_pixels
from jostle.pixels.render import Shot, Studio
from jostle.rollout.acting import act, draw_plan
from jostle.rollout.collection import Collection, palette
from jostle.scene.arm import JOINTS
from jostle.scene.build import build
from jostle.scene.colors import Color
from jostle.scene.spec import TABLE_TOP

Progress = Callable[[int], None]
"""Called with the number of frames drawn since the last call."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How the work is cut; which frames there are does not depend on it."""

    copies: int = 32
    """Episodes played at once."""
    threads: int = 0
    """Threads for physics and drawing; 0 takes one per core."""
    shard: int = 1024
    """Scenes per shard, about. An interruption loses at most one shard."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        require(self.copies >= 1, f"copies must be at least 1, not {self.copies}.")
        require(self.shard >= 1, f"shard must be at least 1 scene, not {self.shard}.")


def collect(
    collection: Collection,
    frames: int,
    folder: Path,
    pace: Pace,
    progress: Callable[[int, int], Progress] | None = None,
) -> int:
    """Bring a collection to at least `frames` frames (pictures of one camera), whole episodes.

    Args:
        collection: What to collect.
        frames: How many frames of it the folder shall hold in the end.
        folder: Where; goes on if some are there already.
        pace: How the work is cut.
        progress: Told how many frames are wanted and how many were there, gives the bar.

    Returns:
        How many frames of this collection are there now.
    """
    require(frames >= 1, f"At least one frame must be asked for, not {frames}.")
    per_episode = len(collection.cameras) * collection.scenes
    wanted = -(-frames // per_episode)
    pace = replace(pace, copies=min(pace.copies, wanted))
    with Camerawork(collection, pace) as crew, FrameFolder(folder, crew.layout) as target:
        number = target.begin(
            collection.asked(), collection.kept(), palette(crew.env), provenance()
        )
        done = target.episodes(number)
        tell = progress(wanted * per_episode, done * per_episode) if progress else None
        while done < wanted:
            count = min(wanted - done, crew.episodes_per_shard)
            with target.open_shard(crew.streams(count)) as pen:
                crew.fill(pen, done, count, target.manifest.palette, tell)
                pen.finish(number, done, count, count * collection.scenes)
            done += count
    return done * per_episode


class Camerawork:
    """An environment, an oracle and a studio, ready for any episode of a collection."""

    def __init__(self, collection: Collection, pace: Pace) -> None:
        """Build everything; impossible wishes are refused here."""
        self.collection = collection
        self.env: TabletopVectorEnv = collection.build(pace.copies, pace.threads)
        self.layout = collection.layout(self.env)
        rounds = max(1, pace.shard // (collection.scenes * pace.copies))
        self.episodes_per_shard = rounds * pace.copies
        self._oracle = oracle(self.env.recipe.task)
        world = build(self.env.recipe.scene)
        self._studio = Studio(world, self.layout.views, self.layout.size, pace.threads)
        asked = str(sorted(plain(collection.asked()).items()))
        self._stream = SeedTree(collection.seed).integer(f"frames/{asked}")

    def __enter__(self) -> "Camerawork":
        return self

    def __exit__(self, *error: object) -> None:
        self._studio.close()
        self.env.close()

    def streams(self, episodes: int) -> dict[str, tuple[np.dtype[Any], tuple[int, ...], int]]:
        """Describe the files of a shard of so many episodes."""
        scenes = episodes * self.collection.scenes
        byte = np.dtype(np.uint8)
        found = {"frames": (byte, self.layout.shape, scenes), "scenes": (SCENE, (), scenes)}
        if self.collection.truth:
            rows = episodes * len(self.collection.truth_steps)
            dtype = truth_dtype(self.layout.views, self.env.recipe.most)
            found["masks"] = (byte, self.layout.shape[:-1], rows)
            found["truth"] = (dtype, (), rows)
        return found

    def fill(
        self, pen: Pen, first: int, count: int, colors: tuple[Color, ...], tell: Progress | None
    ) -> None:
        """Write the episodes `first` to `first + count - 1` to a shard."""
        copies = self.env.num_envs
        for done in range(0, count, copies):
            used = min(copies, count - done)
            self._play(pen, first + done, used, done, colors)
            if tell is not None:
                tell(used * self.collection.scenes * self.layout.views)

    def _play(
        self, pen: Pen, first: int, used: int, before: int, colors: tuple[Color, ...]
    ) -> None:
        """Play one round: episode `first + i` in copy i; only the first `used` copies count."""
        scenes, kept = self.collection.scenes, self.collection.truth_steps
        plans = []
        for number in range(first, first + self.env.num_envs):
            rng = np.random.default_rng([self.collection.seed, self._stream, number])
            plans.append(draw_plan(self.collection, self.env.recipe, rng))
        frames = np.empty((used, scenes, *self.layout.shape), np.uint8)
        masks = np.empty((used, len(kept), *self.layout.shape[:-1]), np.uint8)
        dtype = truth_dtype(self.layout.views, self.env.recipe.most)
        truth = np.zeros((used, len(kept)), dtype)
        observation, _ = self.env.reset(options={"episode": [plan.episode for plan in plans]})
        for step in range(scenes):
            if step:
                actions = act(plans, step - 1, observation, self._oracle)
                observation = self.env.step(actions)[0]
            shots = self.env.shots()[:used]
            frames[:, step] = self._studio.draw(shots)
            if step in kept:
                row = kept.index(step)
                masks[:, row] = self._studio.label(shots)
                truth[:, row] = self._truth(shots, masks[:, row], colors)
                truth["scene"][:, row] = (before + np.arange(used)) * scenes + step
        places = np.zeros((used, scenes), SCENE)
        places["episode"] = (first + np.arange(used))[:, None]
        places["step"] = np.arange(scenes)
        pen.append("frames", frames.reshape(-1, *self.layout.shape))
        pen.append("scenes", places.reshape(-1))
        if self.collection.truth:
            pen.append("masks", masks.reshape(-1, *self.layout.shape[:-1]))
            pen.append("truth", truth.reshape(-1))

    def _truth(
        self, shots: list[Shot], masks: NDArray[np.uint8], colors: tuple[Color, ...]
    ) -> NDArray[Any]:
        """What some scenes truly show, (B,) rows."""
        most, views = self.env.recipe.most, self.layout.views
        worlds = [shot.world for shot in shots]
        poses = np.stack([shot.qpos[len(JOINTS) :].reshape(-1, 7)[:most] for shot in shots])
        rgb = np.array([shot.look.colors[:most] for shot in shots])  # (B, N, 3)
        far = np.abs(rgb[:, :, None] - np.array(colors)).sum(-1)  # (B, N, P)
        here = np.array([[one.present for one in world.scene.objects[:most]] for world in worlds])
        labels = FIRST_OBJECT + np.arange(most)
        counts = [np.bincount(mask.ravel(), minlength=256) for view in masks for mask in view]
        seen = np.array(counts).reshape(len(shots), views, 256)[..., labels]
        cameras = shots[0].look.cameras
        size = self.layout.size
        whole = np.stack([whole_pixels(worlds, poses, eye, size) for eye in cameras], axis=1)
        found = np.zeros(len(shots), truth_dtype(views, most))
        found["present"] = here
        found["position"] = np.where(here[..., None], poses[..., :3] - (0, 0, TABLE_TOP), 0)
        found["color"] = np.where(here, far.argmin(-1), ABSENT)
        found["rgb"] = np.where(here[..., None], rgb, 0)
        found["seen"] = np.where(here[:, None], seen, 0)
        found["whole"] = np.where(here[:, None], np.maximum(whole, seen), 0)
        return found
