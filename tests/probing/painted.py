"""A folder of painted squares whose truth is known, and encoders made from that truth."""

from types import SimpleNamespace

import numpy as np
import torch

from jostle.core.entities import Entities
from jostle.core.particles import Particles
from jostle.frames.manifest import Layout
from jostle.frames.reader import Frames
from jostle.frames.shards import SCENE, FrameFolder, truth_dtype
from jostle.frames.truth import Truth
from jostle.probing.objects import know

SIZE, SIDE, STEPS, VIEWS, OBJECTS = 64, 5, 4, 2, 3
PALETTE = ((0.6, 0.1, 0.0), (0.0, 0.6, 0.1), (0.0, 0.1, 0.8), (0.7, 0.7, 0.0))
LAYOUT = Layout(cameras=({"name": "front"}, {"name": "side"}), size=(SIZE, SIZE))
ARM = 60
"""First of the columns that the arm fills."""
FREE = (30.0, 2.0)
"""Where neither an object nor the arm ever is."""


def paint(path, episodes: int = 24, near=False, hidden=False, fallen=False, seed: int = 0):
    """Write scenes of three squares at least 10 pixels apart; the first moves in the last step.

    Args:
        path: The folder.
        episodes: How many, of `STEPS` scenes each.
        near: Put the second square right beside the first.
        hidden: Let the arm cover four fifths of the third square in the second view.
        fallen: Let the third square lie below the table, still to be seen.
        seed: Which scenes.
    """
    rng = np.random.default_rng(seed)
    scenes = episodes * STEPS
    middles = np.zeros((episodes, STEPS, OBJECTS, 2), int)
    for one in range(episodes):
        cells = rng.permutation(9)[:OBJECTS]
        corner = np.stack((cells // 3, cells % 3), -1) * 16 + rng.integers(0, 5, (OBJECTS, 2))
        middles[one] = corner + 10
        middles[one, -1, 0] += 1
    if near:
        middles[:, :, 1] = middles[:, :, 0] + (0, SIDE + 1)
    middles = middles.reshape(scenes, OBJECTS, 2)
    paints = np.stack([rng.permutation(len(PALETTE))[:OBJECTS] for _ in range(episodes)])
    paints = np.repeat(paints, STEPS, 0)  # (S, N)

    masks = np.zeros((scenes, VIEWS, SIZE, SIZE), np.uint8)
    masks[..., ARM:] = 1
    frames = np.full((*masks.shape, 3), 70, np.uint8)
    frames[masks == 1] = 120
    for scene, one in np.ndindex(scenes, OBJECTS):
        for view in range(VIEWS):
            row, column = middles[scene, one][:: 1 if view == 0 else -1]
            box = np.s_[row - 2 : row + 3, column - 2 : column + 3]
            masks[scene, view][box] = 2 + one
            frames[scene, view][box] = np.array(PALETTE[paints[scene, one]]) * 255
            if hidden and view == 1 and one == 2:
                masks[scene, view][row - 2 : row + 3, column - 2 : column + 2] = 1
    frames[:, :, 0, 0] = np.arange(scenes)[:, None, None]  # so that every scene can be told

    truth = np.zeros(scenes, truth_dtype(VIEWS, OBJECTS))
    truth["scene"], truth["present"], truth["color"] = np.arange(scenes), True, paints
    truth["position"][..., :2], truth["rgb"] = middles / 100, np.array(PALETTE)[paints]
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
        number = folder.begin({"task": "painted"}, {"truth": True}, list(PALETTE), {})
        with folder.open_shard(streams) as pen:
            for name, what in zip(streams, (frames, rows, masks, truth), strict=True):
                pen.append(name, what)
            pen.finish(number, 0, episodes, scenes)
    return path


class Fake:
    """An encoder that knows the answer for every scene of a folder; arrays are there to spoil."""

    def __init__(self, folder) -> None:
        frames, truth = Frames(folder), Truth(folder)
        every = np.arange(len(frames))
        self.frames, self.known = frames.batch(every), know(frames, truth, every)
        self.scenes = len(every)

    def which(self, frames) -> np.ndarray:
        return frames[:, 0, 0, 0, 0].numpy().astype(int)

    def reconstruct(self, frames):
        return frames.clone()


class Perfect(Fake):
    """A particle in the middle of every visible square, one-hot colors, and two spare ones."""

    config = SimpleNamespace(visible_above=0.5)
    spare = 2

    def __init__(self, folder) -> None:
        super().__init__(folder)
        known, shape = self.known, (self.scenes, VIEWS, OBJECTS + self.spare)
        self.places = np.full((*shape, 2), FREE)
        self.places[:, :, :OBJECTS] = known.centers
        self.on = np.zeros(shape, bool)
        self.on[:, :, :OBJECTS] = known.visible
        self.looks = np.zeros((*shape, len(PALETTE)))
        self.looks[:, :, :OBJECTS] = np.eye(len(PALETTE))[known.colors][:, None]
        self.box_px = 8.0

    def particles(self, frames) -> Particles:
        at = self.which(frames)
        place = torch.from_numpy(2 * self.places[at] / (SIZE - 1) - 1)
        scale = torch.logit(torch.full_like(place, self.box_px / (SIZE - 1)))
        on = torch.from_numpy(self.on[at]).double()
        return Particles.join(place, scale, on * 0, torch.from_numpy(self.looks[at]), on)

    def encode(self, frames) -> Entities:
        return self.particles(frames).entities(self.config.visible_above)


class PerfectSlots(Fake):
    """A slot for every square, one for the arm and one for the rest."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        self.owner = self.known.masks.astype(int)  # which slot wins a pixel
        self.looks = np.zeros((self.scenes, VIEWS, OBJECTS + 2, len(PALETTE)))
        self.looks[:, :, 2:] = np.eye(len(PALETTE))[self.known.colors][:, None]

    def encode(self, frames) -> Entities:
        at = self.which(frames)
        values = torch.from_numpy(self.looks[at])
        number = torch.from_numpy(at)[:, None, None, None].expand(*values.shape[:3], 1)
        return Entities.all_visible(torch.cat((values, number), -1))

    def masks(self, slots: Entities) -> torch.Tensor:
        owner = torch.from_numpy(self.owner[slots.values[:, 0, 0, -1].numpy().astype(int)])
        return torch.nn.functional.one_hot(owner, OBJECTS + 2).movedim(-1, 2).double()


class PerfectVector(Fake):
    """The places of all colors, mixed by a fixed matrix."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        known, table = self.known, np.zeros((self.scenes, len(PALETTE), 2))
        np.put_along_axis(table, known.colors[..., None], known.positions, 1)
        mix = np.random.default_rng(0).normal(size=(2 * len(PALETTE), 12))
        self.vectors = np.repeat((table.reshape(self.scenes, -1) @ mix)[:, None], VIEWS, 1)

    def encode(self, frames) -> Entities:
        return Entities.all_visible(torch.from_numpy(self.vectors[self.which(frames)])[:, :, None])
