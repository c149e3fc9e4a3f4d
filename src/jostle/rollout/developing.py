"""From moments to stored frames and truth, in a thread of its own: physics need not wait."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.frames.manifest import Layout
from jostle.frames.shards import SCENE, Pen, truth_dtype
from jostle.frames.truth import ABSENT
from jostle.pixels.labels import FIRST_OBJECT, whole_pixels
from jostle.pixels.render import Shot, Studio
from jostle.rollout.collection import Collection
from jostle.scene.arm import JOINTS
from jostle.scene.colors import Color
from jostle.scene.spec import TABLE_TOP

Streams = dict[str, tuple[np.dtype[Any], tuple[int, ...], int]]
"""Per stream: dtype, shape of a row, number of rows."""


class Roll:
    """Room for one round: some whole episodes, one after the other."""

    def __init__(self, collection: Collection, layout: Layout, objects: int) -> None:
        """Describe the arrays; `begin` makes them."""
        self.kept, self.scenes = collection.truth_steps, collection.scenes
        self.layout, self.objects = layout, objects
        self._row = truth_dtype(layout.views, objects)

    def streams(self, episodes: int) -> Streams:
        """Describe the files for so many episodes."""
        scenes, rows, byte = episodes * self.scenes, episodes * len(self.kept), np.dtype(np.uint8)
        found: Streams = {
            "frames": (byte, self.layout.shape, scenes),
            "scenes": (SCENE, (), scenes),
        }
        if self.kept:
            found["masks"] = (byte, self.layout.shape[:-1], rows)
            found["truth"] = (self._row, (), rows)
        return found

    def begin(self, first: int, used: int, before: int) -> dict[str, NDArray[Any]]:
        """Make the arrays for episodes `first` on, with `before` others ahead in the shard."""
        episodes = np.arange(used)[:, None]
        found = {
            stream: np.zeros((used, rows // used, *row), dtype)
            for stream, (dtype, row, rows) in self.streams(used).items()
        }
        found["scenes"]["episode"] = first + episodes
        found["scenes"]["step"] = np.arange(self.scenes)
        if self.kept:
            found["truth"]["scene"] = (before + episodes) * self.scenes + np.array(self.kept)
        return found


class Darkroom:
    """Draws, labels and stores in the order it was asked to, while others go on."""

    def __init__(self, roll: Roll, studio: Studio) -> None:
        """Open the door."""
        self._roll, self._studio = roll, studio
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="darkroom")
        self._work: list[Future[None]] = []

    def ask(self, what: Callable[..., None], *about: Any) -> None:
        """Add some work."""
        self._work.append(self._thread.submit(what, *about))

    def settle(self, left: int = 0) -> None:
        """Wait until at most `left` pieces of work are open; what failed is raised here."""
        while len(self._work) > left:
            self._work[0].result()
            self._work.pop(0)

    def abandon(self) -> None:
        """Drop what was not begun, and wait for what was."""
        for work in self._work:
            work.cancel()
        wait(self._work)
        self._work = []

    def close(self) -> None:
        """Abandon everything and close the studio."""
        self.abandon()
        self._thread.shutdown()
        self._studio.close()

    def expose(
        self,
        shots: list[Shot],
        step: int,
        arrays: dict[str, NDArray[Any]],
        palette: tuple[Color, ...],
    ) -> None:
        """Draw one moment of all episodes into the arrays of a round."""
        arrays["frames"][:, step] = self._studio.draw(shots)
        if step in self._roll.kept:
            row = self._roll.kept.index(step)
            masks = self._studio.label(shots)
            arrays["masks"][:, row] = masks
            for name, values in self._truth(shots, masks, palette).items():
                arrays["truth"][name][:, row] = values

    def store(self, arrays: dict[str, NDArray[Any]], pen: Pen) -> None:
        """Write a finished round."""
        for stream, rows in arrays.items():
            pen.append(stream, rows.reshape(-1, *rows.shape[2:]))

    def _truth(
        self, shots: list[Shot], masks: NDArray[np.uint8], palette: tuple[Color, ...]
    ) -> dict[str, NDArray[Any]]:
        """What some scenes truly show, by name of the column."""
        most, layout = self._roll.objects, self._roll.layout
        worlds, cameras = [shot.world for shot in shots], shots[0].look.cameras
        here = np.array([[one.present for one in world.scene.objects[:most]] for world in worlds])
        poses = np.stack([shot.qpos[len(JOINTS) :].reshape(-1, 7)[:most] for shot in shots])
        rgb = np.array([shot.look.colors[:most] for shot in shots])  # (B, N, 3)
        unlike = np.abs(rgb[:, :, None] - np.array(palette)).sum(-1)  # (B, N, P)
        counts = [
            np.bincount(mask.ravel(), minlength=256) for mask in masks.reshape(-1, *layout.size)
        ]
        seen = np.array(counts).reshape(len(shots), layout.views, 256)
        seen = seen[..., FIRST_OBJECT : FIRST_OBJECT + most]  # (B, V, N)
        whole = np.stack([whole_pixels(worlds, poses, eye, layout.size) for eye in cameras], axis=1)
        return {
            "present": here,
            "position": np.where(here[..., None], poses[..., :3] - (0, 0, TABLE_TOP), 0),
            "color": np.where(here, unlike.argmin(-1), ABSENT),
            "rgb": np.where(here[..., None], rgb, 0),
            "seen": np.where(here[:, None], seen, 0),
            "whole": np.where(here[:, None], np.maximum(whole, seen), 0),
        }
