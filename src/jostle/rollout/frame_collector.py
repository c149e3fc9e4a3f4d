"""Collection of frames: episodes by number, rendered from all cameras, written shard by shard."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from jostle.core.checks import check_int
from jostle.core.errors import require
from jostle.core.seeding import SeedTree
from jostle.frames.shards import FrameFolder, ShardWriter
from jostle.oracles.catalog import oracle
from jostle.pixels.render_pool import RenderPool
from jostle.rollout.async_writer import AsyncFrameWriter, Buffers, ShardBuffers
from jostle.rollout.episode_plan import PlanPolicy, sample_plan
from jostle.rollout.frame_dataset import FrameDatasetSpec, palette_of
from jostle.rollout.rollout import Step, rollout
from jostle.runs.run_dir import provenance
from jostle.scene.build import compile_scene
from jostle.scene.colors import RGB

Progress = Callable[[int], None]
"""Called with the number of frames rendered since the last call."""


@dataclass(frozen=True, kw_only=True)
class CollectOptions:
    """How frames are collected; these options do not change the frames."""

    num_envs: int = 32
    """Episodes played at once."""
    threads: int = 0
    """Threads for physics and rendering; 0 means one per core."""
    shard: int = 1024
    """Approximate number of scenes per shard. An interruption loses at most one shard."""

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        check_int("num_envs", self.num_envs, 1)
        check_int("shard", self.shard, 1)
        check_int("threads", self.threads, 0)


def collect_frames(
    dataset: FrameDatasetSpec,
    frames: int,
    folder: Path,
    options: CollectOptions,
    start_progress: Callable[[int, int], Progress] | None = None,
) -> int:
    """Collect whole episodes until a folder holds at least `frames` frames of a dataset.

    Args:
        dataset: Which frames to collect.
        frames: Number of frames, counting those that the folder already holds; each camera image
            is one frame.
        folder: Where to store them; an interrupted collection is resumed.
        options: How to collect them.
        start_progress: Called with the total number of frames and the number that is already
            there; returns the function that reports progress.

    Returns:
        The number of frames of this dataset in the folder.
    """
    require(frames >= 1, f"At least one frame must be collected, not {frames}.")
    per_episode = len(dataset.cameras) * dataset.scenes
    total = -(-frames // per_episode)  # episodes
    options = replace(options, num_envs=min(options.num_envs, total))
    with (
        FrameCollector(dataset, options) as collector,
        FrameFolder(folder, collector.layout) as out,
    ):
        collection = out.add_collection(
            dataset.identity(), dataset.truth_options(), palette_of(collector.env), provenance()
        )
        done = out.episodes(collection)
        report = None
        if start_progress is not None:
            report = start_progress(total * per_episode, done * per_episode)
        while done < total:
            count = min(total - done, collector.episodes_per_shard)
            with out.open_shard(collector.buffers.streams(count)) as writer:
                collector.fill(writer, done, count, out.manifest.palette, report)
                writer.finish(collection, done, count, count * dataset.scenes)
            done += count
    return done * per_episode


class FrameCollector:
    """Environments, an oracle and a frame writer, for any episode of a dataset."""

    def __init__(self, dataset: FrameDatasetSpec, options: CollectOptions) -> None:
        """Build everything; datasets that cannot be built are refused here."""
        self.dataset = dataset
        self.env = dataset.make_env(options.num_envs, options.threads)
        self.layout = dataset.layout(self.env)
        batches = max(1, options.shard // (dataset.scenes * options.num_envs))
        self.episodes_per_shard = batches * options.num_envs
        self._oracle = oracle(self.env.episode_sampler.task)
        self.buffers = ShardBuffers(dataset, self.layout, self.env.episode_sampler.max_objects)
        scene = compile_scene(self.env.episode_sampler.scene)
        render_pool = RenderPool(scene, self.layout.views, self.layout.size, options.threads)
        self._writer = AsyncFrameWriter(self.buffers, render_pool)
        identity = str(sorted(dataset.identity().items()))
        self._stream = SeedTree(dataset.seed).integer(f"frames/{identity}")

    def __enter__(self) -> "FrameCollector":
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()
        self.env.close()

    def fill(
        self,
        shard: ShardWriter,
        first: int,
        count: int,
        palette: tuple[RGB, ...],
        report: Progress | None,
    ) -> None:
        """Write the episodes `first` to `first + count - 1` to a shard."""
        num_envs = self.env.num_envs
        try:
            for before in range(0, count, num_envs):
                episodes = min(num_envs, count - before)
                buffers = self.buffers.allocate(first + before, episodes, before)
                self._play(first + before, buffers, palette)
                self._writer.submit(self._writer.write, buffers, shard)
                if report is not None:
                    self._writer.submit(report, buffers["frames"][..., 0, 0, 0].size)
            self._writer.flush()
        finally:
            self._writer.cancel()  # before the shard's files are closed

    def _play(self, first: int, buffers: Buffers, palette: tuple[RGB, ...]) -> None:
        """Play episode `first + i` in environment i; the last batch may leave some unused."""
        # Plans, each from a generator of its own
        plans = []
        for number in range(first, first + self.env.num_envs):
            rng = np.random.default_rng([self.dataset.seed, self._stream, number])
            plans.append(sample_plan(self.dataset, self.env.episode_sampler, rng))

        # Steps, each rendered by the writer's thread
        steps = itertools.count()

        def render(_: Step) -> None:
            requests = self.env.render_requests()[: len(buffers["frames"])]
            requests = [replace(request, qpos=request.qpos.copy()) for request in requests]
            self._writer.submit(self._writer.render_step, requests, next(steps), buffers, palette)
            self._writer.flush(pending=2 * self.dataset.scenes)  # bounds the memory

        episodes = [plan.episode for plan in plans]
        policy = PlanPolicy(plans, self._oracle)
        rollout(self.env, policy, self.dataset.steps, episodes, on_step=render)
