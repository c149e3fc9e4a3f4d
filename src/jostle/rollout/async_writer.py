"""Rendering and writing of frames and ground truth in a thread, so that physics need not wait."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.frames.array_files import Streams
from jostle.frames.manifest import Layout
from jostle.frames.shards import SCENE, ShardWriter, truth_dtype
from jostle.frames.truth import ABSENT
from jostle.pixels.labels import FIRST_OBJECT, unoccluded_pixels
from jostle.pixels.render import RenderRequest
from jostle.pixels.render_pool import RenderPool
from jostle.rollout.frame_dataset import FrameDatasetSpec
from jostle.scene.arm import JOINTS
from jostle.scene.colors import RGB
from jostle.scene.spec import TABLE_TOP

Buffers = dict[str, NDArray[Any]]
"""Arrays (episodes, rows of an episode, ...) by stream."""


class ShardBuffers:
    """Makes the arrays for a batch of episodes, which a shard stores one after the other."""

    def __init__(self, dataset: FrameDatasetSpec, layout: Layout, objects: int) -> None:
        """Describe the arrays; `allocate` makes them."""
        self.truth_steps, self.scenes = dataset.truth_steps, dataset.scenes
        self.layout, self.objects = layout, objects
        self._truth_dtype = truth_dtype(layout.views, objects)

    def streams(self, episodes: int) -> Streams:
        """Describe the files of a shard of so many episodes."""
        scenes, truth_rows = episodes * self.scenes, episodes * len(self.truth_steps)
        byte = np.dtype(np.uint8)
        streams: Streams = {
            "frames": (byte, self.layout.shape, scenes),
            "scenes": (SCENE, (), scenes),
        }
        if self.truth_steps:
            streams["masks"] = (byte, self.layout.shape[:-1], truth_rows)
            streams["truth"] = (self._truth_dtype, (), truth_rows)
        return streams

    def allocate(self, first_episode: int, count: int, before: int) -> Buffers:
        """Make arrays for `count` episodes, with `before` other episodes ahead in the shard."""
        episodes = np.arange(count)[:, None]
        buffers = {
            stream: np.zeros((count, rows // count, *row), dtype)
            for stream, (dtype, row, rows) in self.streams(count).items()
        }
        buffers["scenes"]["episode"] = first_episode + episodes
        buffers["scenes"]["step"] = np.arange(self.scenes)
        if self.truth_steps:
            scene = (before + episodes) * self.scenes + np.array(self.truth_steps)
            buffers["truth"]["scene"] = scene
        return buffers


class AsyncFrameWriter:
    """Renders, labels and writes in one background thread, in the order of the calls."""

    def __init__(self, buffers: ShardBuffers, render_pool: RenderPool) -> None:
        """Start the thread."""
        self._buffers, self._render_pool = buffers, render_pool
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frame-writer")
        self._jobs: list[Future[None]] = []

    def submit(self, function: Callable[..., None], *args: Any) -> None:
        """Queue a job."""
        self._jobs.append(self._thread.submit(function, *args))

    def flush(self, pending: int = 0) -> None:
        """Wait until at most `pending` jobs are left; exceptions of jobs are raised here."""
        while len(self._jobs) > pending:
            self._jobs[0].result()
            self._jobs.pop(0)

    def cancel(self) -> None:
        """Drop jobs that have not started, and wait for the others."""
        for job in self._jobs:
            job.cancel()
        wait(self._jobs)
        self._jobs = []

    def close(self) -> None:
        """Cancel all jobs, and close the thread and the render pool."""
        self.cancel()
        self._thread.shutdown()
        self._render_pool.close()

    def render_step(
        self,
        requests: list[RenderRequest],
        step: int,
        buffers: Buffers,
        palette: tuple[RGB, ...],
    ) -> None:
        """Render one step of all episodes, with its ground truth, into the buffers."""
        buffers["frames"][:, step] = self._render_pool.render(requests)
        if step in self._buffers.truth_steps:
            row = self._buffers.truth_steps.index(step)
            masks = self._render_pool.render_labels(requests)
            buffers["masks"][:, row] = masks
            for name, values in self._truth(requests, masks, palette).items():
                buffers["truth"][name][:, row] = values

    def write(self, buffers: Buffers, writer: ShardWriter) -> None:
        """Write finished buffers to a shard."""
        for stream, rows in buffers.items():
            writer.append(stream, rows.reshape(-1, *rows.shape[2:]))

    def _truth(
        self, requests: list[RenderRequest], masks: NDArray[np.uint8], palette: tuple[RGB, ...]
    ) -> dict[str, NDArray[Any]]:
        """Ground truth of some scenes, by the name of the column."""
        count, layout = self._buffers.objects, self._buffers.layout
        scenes, cameras = [request.scene for request in requests], requests[0].appearance.cameras
        present = np.array(
            [[spec.present for spec in scene.spec.objects[:count]] for scene in scenes]
        )  # (B, N)
        poses = np.stack(
            [request.qpos[len(JOINTS) :].reshape(-1, 7)[:count] for request in requests]
        )  # (B, N, 7)

        # Colors
        rgb = np.array([request.appearance.colors[:count] for request in requests])  # (B, N, 3)
        distance = np.abs(rgb[:, :, None] - np.array(palette)).sum(-1)  # (B, N, P)

        # Visible and unoccluded pixels
        histograms = [
            np.bincount(mask.ravel(), minlength=256) for mask in masks.reshape(-1, *layout.size)
        ]
        visible_px = np.array(histograms).reshape(len(requests), layout.views, 256)
        visible_px = visible_px[..., FIRST_OBJECT : FIRST_OBJECT + count]  # (B, V, N)
        unoccluded_px = np.stack(
            [unoccluded_pixels(scenes, poses, camera, layout.size) for camera in cameras], axis=1
        )
        unoccluded_px = np.maximum(unoccluded_px, visible_px)
        return {
            "present": present,
            "position": np.where(present[..., None], poses[..., :3] - (0, 0, TABLE_TOP), 0),
            "color": np.where(present, distance.argmin(-1), ABSENT),
            "rgb": np.where(present[..., None], rgb, 0),
            "seen": np.where(present[:, None], visible_px, 0),
            "whole": np.where(present[:, None], unoccluded_px, 0),
        }
