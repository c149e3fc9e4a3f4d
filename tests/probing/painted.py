"""A folder of painted squares with ground truth, and fake encoders made from that truth."""

from types import SimpleNamespace

import numpy as np
import torch

from jostle.core.entities import Entities
from jostle.core.particles import Particles
from jostle.frames.manifest import Layout
from jostle.frames.reader import Frames
from jostle.frames.shards import SCENE, FrameFolder, truth_dtype
from jostle.frames.truth import Truth
from jostle.probing.ground_truth import read_ground_truth

SIZE, SIDE, STEPS, VIEWS, OBJECTS = 64, 5, 4, 2, 3
PALETTE = ((0.6, 0.1, 0.0), (0.0, 0.6, 0.1), (0.0, 0.1, 0.8), (0.7, 0.7, 0.0))
LAYOUT = Layout(cameras=({"name": "front"}, {"name": "side"}), size=(SIZE, SIZE))
ARM = 60
"""First of the columns that the arm fills."""
FREE = (30.0, 2.0)
"""A position that neither objects nor the arm ever cover."""


def paint(path, episodes: int = 24, near=False, occluded=False, fallen=False, seed: int = 0):
    """Write scenes of three squares at least 10 pixels apart; the first moves in the last step.

    Args:
        path: The folder.
        episodes: Number of episodes, of `STEPS` scenes each.
        near: Put the second square right beside the first.
        occluded: Let the arm cover four fifths of the third square in the second view.
        fallen: Put the third square below the table, where it is still visible.
        seed: Seed of the scenes.
    """
    rng = np.random.default_rng(seed)
    scenes = episodes * STEPS
    centers = np.zeros((episodes, STEPS, OBJECTS, 2), int)
    for episode in range(episodes):
        cells = rng.permutation(9)[:OBJECTS]
        corner = np.stack((cells // 3, cells % 3), -1) * 16 + rng.integers(0, 5, (OBJECTS, 2))
        centers[episode] = corner + 10
        centers[episode, -1, 0] += 1
    if near:
        centers[:, :, 1] = centers[:, :, 0] + (0, SIDE + 1)
    centers = centers.reshape(scenes, OBJECTS, 2)
    colors = np.stack([rng.permutation(len(PALETTE))[:OBJECTS] for _ in range(episodes)])
    colors = np.repeat(colors, STEPS, 0)  # (S, N)

    masks = np.zeros((scenes, VIEWS, SIZE, SIZE), np.uint8)
    masks[..., ARM:] = 1
    frames = np.full((*masks.shape, 3), 70, np.uint8)
    frames[masks == 1] = 120
    for scene, index in np.ndindex(scenes, OBJECTS):
        for view in range(VIEWS):
            row, column = centers[scene, index][:: 1 if view == 0 else -1]
            box = np.s_[row - 2 : row + 3, column - 2 : column + 3]
            masks[scene, view][box] = 2 + index
            frames[scene, view][box] = np.array(PALETTE[colors[scene, index]]) * 255
            if occluded and view == 1 and index == 2:
                masks[scene, view][row - 2 : row + 3, column - 2 : column + 2] = 1
    frames[:, :, 0, 0] = np.arange(scenes)[:, None, None]  # identifies the scene

    truth = np.zeros(scenes, truth_dtype(VIEWS, OBJECTS))
    truth["scene"], truth["present"], truth["color"] = np.arange(scenes), True, colors
    truth["position"][..., :2], truth["rgb"] = centers / 100, np.array(PALETTE)[colors]
    truth["position"][:, 2, 2] = -0.3 if fallen else 0.0
    labels = np.arange(2, 2 + OBJECTS)
    truth["seen"] = (masks[..., None] == labels).sum((2, 3))
    truth["whole"] = SIDE**2
    rows = np.zeros(scenes, SCENE)
    rows["episode"] = np.repeat(np.arange(episodes), STEPS)
    rows["step"] = np.tile(np.arange(STEPS), episodes)
    streams = {
        "frames": (np.dtype(np.uint8), LAYOUT.shape, scenes),
        "scenes": (SCENE, (), scenes),
        "masks": (np.dtype(np.uint8), LAYOUT.shape[:-1], scenes),
        "truth": (truth.dtype, (), scenes),
    }
    with FrameFolder(path, LAYOUT) as folder:
        number = folder.add_collection({"task": "painted"}, {"truth": True}, list(PALETTE), {})
        with folder.open_shard(streams) as writer:
            for name, array in zip(streams, (frames, rows, masks, truth), strict=True):
                writer.append(name, array)
            writer.finish(number, 0, episodes, scenes)
    return path


class Fake:
    """An encoder that knows the truth of every scene of a folder; tests change its arrays."""

    def __init__(self, folder) -> None:
        frames, truth = Frames(folder), Truth(folder)
        scenes = np.arange(len(frames))
        self.truth, self.scenes = read_ground_truth(frames, truth, scenes), len(scenes)

    def scene_index(self, frames) -> np.ndarray:
        return frames[:, 0, 0, 0, 0].numpy().astype(int)

    def reconstruct(self, frames):
        return frames.clone()


class Perfect(Fake):
    """A particle at the center of every visible square with one-hot colors, and two unused ones."""

    config = SimpleNamespace(opacity_threshold=0.5)
    unused = 2

    def __init__(self, folder) -> None:
        super().__init__(folder)
        truth, shape = self.truth, (self.scenes, VIEWS, OBJECTS + self.unused)
        self.positions = np.full((*shape, 2), FREE)
        self.positions[:, :, :OBJECTS] = truth.centers
        self.visible = np.zeros(shape, bool)
        self.visible[:, :, :OBJECTS] = truth.visible
        self.features = np.zeros((*shape, len(PALETTE)))
        self.features[:, :, :OBJECTS] = np.eye(len(PALETTE))[truth.colors][:, None]
        self.box_px = 8.0

    def particles(self, frames) -> Particles:
        index = self.scene_index(frames)
        position = torch.from_numpy(2 * self.positions[index] / (SIZE - 1) - 1)
        scale = torch.logit(torch.full_like(position, self.box_px / (SIZE - 1)))
        opacity = torch.from_numpy(self.visible[index]).double()
        features = torch.from_numpy(self.features[index])
        return Particles.from_parts(position, scale, opacity * 0, features, opacity)

    def encode(self, frames) -> Entities:
        return self.particles(frames).to_entities(self.config.opacity_threshold)


class PerfectSlots(Fake):
    """A slot for every square, one for the arm and one for the background."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        self.owner = self.truth.masks.astype(int)  # the slot of each pixel
        self.features = np.zeros((self.scenes, VIEWS, OBJECTS + 2, len(PALETTE)))
        self.features[:, :, 2:] = np.eye(len(PALETTE))[self.truth.colors][:, None]

    def encode(self, frames) -> Entities:
        index = self.scene_index(frames)
        values = torch.from_numpy(self.features[index])
        number = torch.from_numpy(index)[:, None, None, None].expand(*values.shape[:3], 1)
        return Entities.all_visible(torch.cat((values, number), -1))

    def masks(self, slots: Entities) -> torch.Tensor:
        owner = torch.from_numpy(self.owner[slots.values[:, 0, 0, -1].numpy().astype(int)])
        return torch.nn.functional.one_hot(owner, OBJECTS + 2).movedim(-1, 2).double()


class PerfectVector(Fake):
    """The positions of all colors, mixed by a fixed matrix."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        truth, table = self.truth, np.zeros((self.scenes, len(PALETTE), 2))
        np.put_along_axis(table, truth.colors[..., None], truth.table_positions, 1)
        mix = np.random.default_rng(0).normal(size=(2 * len(PALETTE), 12))
        self.vectors = np.repeat((table.reshape(self.scenes, -1) @ mix)[:, None], VIEWS, 1)

    def encode(self, frames) -> Entities:
        return Entities.all_visible(
            torch.from_numpy(self.vectors[self.scene_index(frames)])[:, :, None]
        )
