"""Examples for reports: scenes evenly spaced in a folder, and objects with the largest errors."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.protocols import Encoder
from jostle.probing.detections import Flags, Floats
from jostle.probing.probe import Probe, color_name

Images = NDArray[np.uint8]
_GRAY = 0.75
"""Gray behind the transparent parts of a glimpse."""


@runtime_checkable
class SupportsGlimpses(Protocol):
    """A particle encoder that can decode the glimpse of a particle."""

    decoder: Any
    """Maps features (N, K, l) to glimpses (N, K, 4, S, S): alpha, red, green, blue."""


@dataclass(frozen=True)
class SceneExample:
    """One scene: frames, detections, ground truth and reconstruction."""

    frames: Images
    """(V, H, W, 3)."""
    reconstruction: Images
    """(V, H, W, 3)."""
    visible: Flags
    """Entities that are visible, (V, K)."""
    positions: Floats | None
    """Rows and columns of entities, (V, K, 2)."""
    half_extent: Floats | None
    """Half of the height and width of the boxes of particles, (V, K, 2)."""
    slot_argmax: Images | None
    """The slot with the largest share of each pixel, (V, H, W)."""
    glimpses: Images | None
    """Decoded glimpses of the particles, (V, K, S, S, 3)."""
    centers: Floats
    """Centers of the objects, (V, N, 2)."""
    missed: Flags
    """Visible objects that were not matched, (V, N)."""


@dataclass(frozen=True)
class FailureCase:
    """One object in one view with a large error."""

    scene: SceneExample
    """The scene."""
    view: int
    """Index of the view."""
    object: int
    """Index of the object."""
    camera: str
    """Name of the view."""
    color: str
    """Name of the object's color."""
    error: float
    """Distance of the object's entity, in pixels."""


def scene_examples(encoder: Encoder, probe: Probe, count: int) -> list[SceneExample]:
    """Scenes evenly spaced over all that were probed."""
    ends = np.linspace(0, len(probe.scenes), count + 1)
    rows = np.unique(((ends[:-1] + ends[1:]) / 2).astype(int))
    return make_examples(encoder, probe, rows)


def worst_cases(encoder: Encoder, probe: Probe, count: int) -> list[FailureCase]:
    """Objects with the largest errors, one per episode; vectors have none."""
    if probe.assignment is None:
        return []

    # The largest errors, of different episodes
    error = np.where(probe.truth.visible, probe.assignment.error, -1.0)
    order = np.argsort(-error, axis=None, kind="stable")
    by_episode: dict[tuple[int, int], tuple[int, int, int]] = {}
    for row, view, index in zip(*np.unravel_index(order, error.shape), strict=True):
        if len(by_episode) == count or error[row, view, index] < 0:
            break
        scene = probe.scenes[row]
        episode = int(probe.frames.collections[scene]), int(probe.frames.episodes[scene])
        by_episode.setdefault(episode, (int(row), int(view), int(index)))
    if not by_episode:
        return []

    # Their scenes
    worst = list(by_episode.values())
    cameras = [camera["name"] for camera in probe.frames.layout.cameras]
    scenes = make_examples(encoder, probe, np.array([row for row, _, _ in worst]))
    return [
        FailureCase(
            scene=scene,
            view=view,
            object=index,
            camera=cameras[view],
            color=color_name(probe.palette[probe.truth.colors[row, index]]),
            error=float(error[row, view, index]),
        )
        for scene, (row, view, index) in zip(scenes, worst, strict=True)
    ]


@torch.no_grad()
def make_examples(encoder: Encoder, probe: Probe, rows: NDArray[np.int64]) -> list[SceneExample]:
    """Make examples of some scenes of a probe, given by their rows."""
    frames = probe.frames.batch(probe.scenes[rows])
    reconstructions = encoder.reconstruct(torch.from_numpy(frames)).numpy()
    detections, truth, assignment = probe.detections, probe.truth, probe.assignment
    glimpses = None
    if probe.kind == "particles" and isinstance(encoder, SupportsGlimpses):
        features = torch.from_numpy(detections.features)
        glimpses = [_decode_glimpses(encoder, features[row]) for row in rows]
    missed = np.zeros_like(truth.visible)
    if assignment is not None:
        missed = truth.visible & ~assignment.matched

    def of_row(values: Any, row: int) -> Any:
        return None if values is None else values[row]

    return [
        SceneExample(
            frames=frames[number],
            reconstruction=reconstructions[number],
            visible=detections.visible[row],
            positions=of_row(detections.positions, row),
            half_extent=of_row(detections.half_extent, row),
            slot_argmax=of_row(detections.slot_argmax, row),
            glimpses=None if glimpses is None else glimpses[number],
            centers=truth.centers[row],
            missed=missed[row],
        )
        for number, row in enumerate(rows)
    ]


def _decode_glimpses(encoder: SupportsGlimpses, features: Tensor) -> Images:
    """Glimpses (V, K, S, S, 3) of features (V, K, l), over gray."""
    decoded = encoder.decoder(features)  # (V, K, 4, S, S)
    alpha, color = decoded[:, :, :1], decoded[:, :, 1:4]
    image = alpha * color + (1 - alpha) * _GRAY
    return image.clamp(0, 1).mul(255).round().byte().movedim(2, -1).numpy()
