"""Entities that an agent's encoder detects, drawn over the larger frames of a video."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.errors import BadValueError
from jostle.core.protocols import Encoder
from jostle.probing.detections import Flags, Floats, encode_batch
from jostle.reports.drawing import canvas, draw_particles
from jostle.reports.video import Frame, hstack, with_caption, with_title

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


def draw_overlay(frame: Frame, detected: FrameDetections, view: int) -> Frame:
    """One view of a video, of any size, with boxes and centers of the visible entities.

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


def state_layout(
    views: Mapping[str, Frame], goals: Mapping[str, Frame], detected: FrameDetections, caption: str
) -> Frame:
    """All views with their detections, beside small goal images."""
    images = [
        with_title(draw_overlay(frame, detected, view), name)
        for view, (name, frame) in enumerate(views.items())
    ]
    goal = with_title(_column(list(goals.values())), "goal")
    return with_caption(hstack(*images, goal), caption)


def goal_layout(
    views: Mapping[str, Frame], goals: Mapping[str, Frame], detected: FrameDetections, caption: str
) -> Frame:
    """All views, beside goal images with their detections."""
    images = [with_title(frame, name) for name, frame in views.items()]
    goal_images = [
        with_title(draw_overlay(frame, detected, view), f"goal, {name}")
        for view, (name, frame) in enumerate(goals.items())
    ]
    return with_caption(hstack(*images, *goal_images), caption)


def _column(frames: list[Frame]) -> Frame:
    """Shrink images so that all of them, stacked vertically, are as high as one was."""
    side, count = len(frames[0]), len(frames)
    ends = np.linspace(0, side, count + 1).astype(int)
    small = [
        np.asarray(canvas(frame)[0].resize((side // count, bottom - top)))
        for frame, top, bottom in zip(frames, ends, ends[1:], strict=False)
    ]
    return np.concatenate(small, axis=0)
