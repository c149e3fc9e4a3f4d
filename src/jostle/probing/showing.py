"""What is worth showing: scenes spread over a folder, and the objects that were seen worst."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.probing.looking import Encoder, Flags, Floats
from jostle.probing.measure import Study, color_name

Pictures = NDArray[np.uint8]
_PAPER = 0.75
"""Gray that shines through where a glimpse is transparent."""


@runtime_checkable
class DrawsGlimpses(Protocol):
    """A particle encoder that can draw what a particle looks like."""

    decoder: Any
    """Maps features (N, K, l) to glimpses (N, K, 4, S, S): alpha, red, green, blue."""


@dataclass(frozen=True)
class Shown:
    """One scene: what is there, what was found, and what is drawn of it."""

    frames: Pictures
    """(V, H, W, 3)."""
    drawn: Pictures
    """Its reconstruction, (V, H, W, 3)."""
    visible: Flags
    """Entities that are there, (V, K)."""
    places: Floats | None
    """Rows and columns of entities, (V, K, 2)."""
    reach: Floats | None
    """Half of the boxes of particles, (V, K, 2)."""
    winners: Pictures | None
    """Which slot has each pixel, (V, H, W)."""
    glimpses: Pictures | None
    """What each particle looks like, (V, K, S, S, 3)."""
    middles: Floats
    """Middles of the objects, (V, N, 2)."""
    missed: Flags
    """Visible objects that were not recalled, (V, N)."""


@dataclass(frozen=True)
class Case:
    """One object in one view that was seen badly."""

    shown: Shown
    """The scene."""
    view: int
    """Which view."""
    object: int
    """Which object."""
    camera: str
    """Name of the view."""
    color: str
    """Name of the object's color."""
    error: float
    """Distance of what serves the object, in pixels."""


def examples(model: Encoder, study: Study, count: int) -> list[Shown]:
    """Scenes spread evenly over all that were looked at."""
    ends = np.linspace(0, len(study.scenes), count + 1)
    rows = np.unique(((ends[:-1] + ends[1:]) / 2).astype(int))
    return show(model, study, rows)


def worst(model: Encoder, study: Study, count: int) -> list[Case]:
    """Objects that are furthest from what serves them, one per episode; vectors have none."""
    if study.service is None:
        return []
    error = np.where(study.known.visible, study.service.error, -1.0)
    order = np.argsort(-error, axis=None, kind="stable")
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    for row, view, one in zip(*np.unravel_index(order, error.shape), strict=True):
        if len(found) == count or error[row, view, one] < 0:
            break
        scene = study.scenes[row]
        episode = int(study.frames.collections[scene]), int(study.frames.episodes[scene])
        found.setdefault(episode, (int(row), int(view), int(one)))
    if not found:
        return []
    cases = list(found.values())
    cameras = [camera["name"] for camera in study.frames.layout.cameras]
    scenes = show(model, study, np.array([row for row, _, _ in cases]))
    return [
        Case(
            shown=shown,
            view=view,
            object=one,
            camera=cameras[view],
            color=color_name(study.palette[study.known.colors[row, one]]),
            error=float(error[row, view, one]),
        )
        for shown, (row, view, one) in zip(scenes, cases, strict=True)
    ]


@torch.no_grad()
def show(model: Encoder, study: Study, rows: NDArray[np.int64]) -> list[Shown]:
    """Take the scenes of some rows of a study."""
    frames = study.frames.batch(study.scenes[rows])
    drawn = model.reconstruct(torch.from_numpy(frames)).numpy()
    sight, known, service = study.sight, study.known, study.service
    glimpses = None
    if study.kind == "particles" and isinstance(model, DrawsGlimpses):
        glimpses = [_glimpses(model, torch.from_numpy(sight.features[row])) for row in rows]
    lost = known.visible & ~service.recalled if service else np.zeros_like(known.visible)
    return [
        Shown(
            frames=frames[number],
            drawn=drawn[number],
            visible=sight.visible[row],
            places=None if sight.places is None else sight.places[row],
            reach=None if sight.reach is None else sight.reach[row],
            winners=None if sight.winners is None else sight.winners[row],
            glimpses=None if glimpses is None else glimpses[number],
            middles=known.centers[row],
            missed=lost[row],
        )
        for number, row in enumerate(rows)
    ]


def _glimpses(model: DrawsGlimpses, features: Tensor) -> Pictures:
    decoded = model.decoder(features)  # (V, K, 4, S, S)
    alpha, color = decoded[:, :, :1], decoded[:, :, 1:4]
    laid = alpha * color + (1 - alpha) * _PAPER
    return laid.clamp(0, 1).mul(255).round().byte().movedim(2, -1).numpy()
