"""Entities that an agent's encoder detects, drawn over its frames."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.entities import HEIGHT, POSITION, Entities, EntityLayout
from jostle.core.errors import BadValueError
from jostle.core.protocols import Encoder
from jostle.probing.detections import Flags, Floats, encode_batch
from jostle.reports.drawing import canvas, draw_particles
from jostle.reports.video import Frame
from jostle.reports.video_layout import with_label
from jostle.scene.cameras import project
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP, CameraSpec

_SLOT_HALF_EXTENT = 5.0
"""Half of the box drawn around the center of a slot, which has no size of its own, in pixels."""


@dataclass(frozen=True)
class FrameDetections:
    """Entities detected in the views of one step."""

    positions: Floats
    """Rows and columns in the agent's frames, (V, K, 2)."""
    half_extent: Floats
    """Half of the height and width of their boxes, (V, K, 2)."""
    visible: Flags
    """Which of them are visible, (V, K)."""
    weights: NDArray[np.float32] | None
    """The actor's attention to each, (V, K), with sum 1."""
    side: int
    """Height and width of the agent's frames in pixels."""


def detect(
    encoder: Encoder, frames: NDArray[np.uint8], weights: NDArray[np.float32] | None = None
) -> FrameDetections:
    """Detect entities in the frames (V, H, W, 3) of one step."""
    detections, _ = encode_batch(encoder, torch.from_numpy(frames[None]))
    positions, half_extent = detections.positions, detections.half_extent
    if positions is None:
        raise BadValueError(
            "The encoder of this agent gives one vector per image, without positions to draw. Name "
            "an agent with particles or slots, or use --overlay none."
        )
    if half_extent is None:
        half_extent = np.full_like(positions, _SLOT_HALF_EXTENT)
    return FrameDetections(
        positions[0], half_extent[0], detections.visible[0], weights, frames.shape[1]
    )


def project_objects(
    objects: Entities,
    layout: EntityLayout,
    cameras: Sequence[CameraSpec],
    side: int,
    weights: NDArray[np.float32] | None = None,
) -> FrameDetections:
    """Found objects (1, 1, K, D), which are places on the table, in frames of a side of `side`.

    `weights` are (1, K): an object has the same in all views.
    """
    values = np.asarray(objects.values)[0, 0].astype(np.float64)  # (K, D)
    height = values[:, layout[HEIGHT]]
    center = np.concatenate((values[:, layout[POSITION]], height), axis=-1)
    center[:, 2] = TABLE_TOP + np.maximum(center[:, 2], CUBE_SIDE / 2)  # goals have no height
    top = center + np.array([0, 0, CUBE_SIDE / 2])
    places = [project(camera, center, (side, side))[:, ::-1] for camera in cameras]
    edges = [project(camera, top, (side, side))[:, ::-1] for camera in cameras]
    half = np.abs(np.stack(edges) - np.stack(places)).max(-1, keepdims=True)  # (V, K, 1)
    visible = np.asarray(objects.visible)[0].repeat(len(cameras), axis=0)  # (V, K)
    spread = None if weights is None else weights.repeat(len(cameras), axis=0)
    return FrameDetections(np.stack(places), half.repeat(2, axis=-1), visible, spread, side)


def draw_overlay(frame: Frame, detected: FrameDetections, view: int) -> Frame:
    """One view, enlarged to any size, with boxes and centers of the visible entities.

    With weights, the entity with the largest one has the thickest and most vivid box of all views.
    """
    visible, weights = detected.visible[view], None
    if detected.weights is not None:
        weights = detected.weights[view][visible] / max(detected.weights.max(), 1e-9)
    image, draw = canvas(frame)
    factor = len(frame) / detected.side
    positions, half_extent = detected.positions[view], detected.half_extent[view]
    draw_particles(draw, positions[visible], half_extent[visible], factor, weights)
    return np.asarray(image)


def detections_column(
    frames: NDArray[np.uint8], detected: FrameDetections, height: int, names: Sequence[str]
) -> Frame:
    """The agent's frames (V, H, W, 3) below each other with their detections, `height` in all."""
    ends = np.linspace(0, height, len(frames) + 1).astype(int)
    images = []
    for view, frame in enumerate(frames):
        rows = int(ends[view + 1] - ends[view])
        enlarged = np.asarray(canvas(frame)[0].resize((height // len(frames), rows)))
        images.append(with_label(draw_overlay(enlarged, detected, view), names[view]))
    return np.concatenate(images)
