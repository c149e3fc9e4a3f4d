"""What an agent finds in the frames it is shown, drawn over the larger frames of a film."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.errors import BadValueError
from jostle.probing.looking import Encoder, Flags, Floats, glance
from jostle.reports.films import Frame, beside, captioned, titled
from jostle.reports.portraits import canvas, mark

_SLOT = 5.0
"""Half of the box around the middle of a slot, which has no size of its own, in pixels."""


@dataclass(frozen=True)
class Found:
    """Entities of one moment."""

    places: Floats
    """Rows and columns in the agent's frames, (V, K, 2)."""
    reach: Floats
    """Half of their boxes, (V, K, 2)."""
    visible: Flags
    """Which of them are there, (V, K)."""
    weights: NDArray[np.float32] | None
    """How much the actor makes of each, (V, K); their sum is 1."""
    side: int
    """Of the agent's frames, in pixels."""


def find(
    eyes: Encoder, frames: NDArray[np.uint8], weights: NDArray[np.float32] | None = None
) -> Found:
    """Find entities in the frames (V, H, W, 3) of one moment."""
    sight, _ = glance(eyes, torch.from_numpy(frames[None]))
    if sight.places is None:
        raise BadValueError(
            "This agent sees one vector an image, which has no place in it to draw. Name an agent "
            "that sees particles or slots, or film it with --overlay none."
        )
    reach = np.full_like(sight.places, _SLOT) if sight.reach is None else sight.reach
    return Found(sight.places[0], reach[0], sight.visible[0], weights, frames.shape[1])


def marked(frame: Frame, found: Found, view: int) -> Frame:
    """One view of a film, of any size, with the boxes and places of what is visible.

    With weights, the thickest and most vivid box of all views is that of the largest one.
    """
    there, strength = found.visible[view], None
    if found.weights is not None:
        strength = found.weights[view][there] / max(found.weights.max(), 1e-9)
    image, pen = canvas(frame)
    by = len(frame) / found.side
    mark(pen, found.places[view][there], found.reach[view][there], by, strength)
    return np.asarray(image)


def with_state(
    views: Mapping[str, Frame], goals: Mapping[str, Frame], found: Found, caption: str
) -> Frame:
    """All views with what was found in them; small goal pictures stand beside."""
    pictures = [
        titled(marked(frame, found, view), name) for view, (name, frame) in enumerate(views.items())
    ]
    return captioned(beside(*pictures, titled(_column(list(goals.values())), "goal")), caption)


def with_goal(
    views: Mapping[str, Frame], goals: Mapping[str, Frame], found: Found, caption: str
) -> Frame:
    """All views as they are; beside them, goal pictures with what was found in these."""
    pictures = [titled(frame, name) for name, frame in views.items()]
    aims = [
        titled(marked(frame, found, view), f"goal, {name}")
        for view, (name, frame) in enumerate(goals.items())
    ]
    return captioned(beside(*pictures, *aims), caption)


def _column(frames: list[Frame]) -> Frame:
    """Shrink pictures so that all of them, one below the other, are as high as one was."""
    side, count = len(frames[0]), len(frames)
    ends = np.linspace(0, side, count + 1).astype(int)
    small = [
        np.asarray(canvas(frame)[0].resize((side // count, bottom - top)))
        for frame, top, bottom in zip(frames, ends, ends[1:], strict=False)
    ]
    return np.concatenate(small, axis=0)
