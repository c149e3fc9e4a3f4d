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
from jostle.frames.shards import FrameFolder, Pen
from jostle.oracles.catalog import oracle
from jostle.pixels.render import Studio
from jostle.rollout.acting import act, draw_plan
from jostle.rollout.collection import Collection, colors_of
from jostle.rollout.developing import Darkroom, Roll
from jostle.scene.build import build
from jostle.scene.colors import Color

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
            collection.asked(), collection.kept(), colors_of(crew.env), provenance()
        )
        done = target.episodes(number)
        tell = progress(wanted * per_episode, done * per_episode) if progress else None
        while done < wanted:
            count = min(wanted - done, crew.episodes_per_shard)
            with target.open_shard(crew.roll.streams(count)) as pen:
                crew.fill(pen, done, count, target.manifest.palette, tell)
                pen.finish(number, done, count, count * collection.scenes)
            done += count
    return done * per_episode


class Camerawork:
    """An environment, an oracle and a darkroom, ready for any episode of a collection."""

    def __init__(self, collection: Collection, pace: Pace) -> None:
        """Build everything; impossible wishes are refused here."""
        self.collection = collection
        self.env: TabletopVectorEnv = collection.build(pace.copies, pace.threads)
        self.layout = collection.layout(self.env)
        rounds = max(1, pace.shard // (collection.scenes * pace.copies))
        self.episodes_per_shard = rounds * pace.copies
        self._oracle = oracle(self.env.recipe.task)
        self.roll = Roll(collection, self.layout, self.env.recipe.most)
        world = build(self.env.recipe.scene)
        studio = Studio(world, self.layout.views, self.layout.size, pace.threads)
        self._darkroom = Darkroom(self.roll, studio)
        asked = str(sorted(collection.asked().items()))
        self._stream = SeedTree(collection.seed).integer(f"frames/{asked}")

    def __enter__(self) -> "Camerawork":
        return self

    def __exit__(self, *error: object) -> None:
        self._darkroom.close()
        self.env.close()

    def fill(
        self, pen: Pen, first: int, count: int, palette: tuple[Color, ...], tell: Progress | None
    ) -> None:
        """Write the episodes `first` to `first + count - 1` to a shard."""
        copies = self.env.num_envs
        try:
            for before in range(0, count, copies):
                used = min(copies, count - before)
                arrays = self.roll.begin(first + before, used, before)
                self._play(first + before, arrays, palette)
                self._darkroom.ask(self._darkroom.store, arrays, pen)
                if tell is not None:
                    self._darkroom.ask(tell, arrays["frames"][..., 0, 0, 0].size)
            self._darkroom.settle()
        finally:
            self._darkroom.abandon()  # before the shard's files are closed

    def _play(
        self, first: int, arrays: dict[str, NDArray[Any]], palette: tuple[Color, ...]
    ) -> None:
        """Play one round: episode `first + i` in copy i; spare copies of a last round idle."""
        plans = []
        for number in range(first, first + self.env.num_envs):
            rng = np.random.default_rng([self.collection.seed, self._stream, number])
            plans.append(draw_plan(self.collection, self.env.recipe, rng))
        observation, _ = self.env.reset(options={"episode": [plan.episode for plan in plans]})
        for step in range(self.collection.scenes):
            if step:
                actions = act(plans, step - 1, observation, self._oracle)
                observation = self.env.step(actions)[0]
            shots = self.env.shots()[: len(arrays["frames"])]
            shots = [replace(shot, qpos=shot.qpos.copy()) for shot in shots]
            self._darkroom.ask(self._darkroom.expose, shots, step, arrays, palette)
            self._darkroom.settle(left=2 * self.collection.scenes)  # bounds the memory
