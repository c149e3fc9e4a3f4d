"""Reading places on the table off frames: calibrated on frames with truth, then without any.

A reader says which entity is the object of a color, and where on the table that is. It knows
frames, and the truth of the folder it was calibrated with; of the scene it reads, nothing else.
S scenes, V views, K entities per view, N objects, C colors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, require
from jostle.frames.manifest import Layout
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth
from jostle.probing.linear import odds, quadratic
from jostle.probing.looking import Encoder, Flags, Floats, Sight, glance
from jostle.probing.matching import OBJECT, places_of
from jostle.probing.measure import Study, color_name
from jostle.probing.objects import FALLEN
from jostle.probing.probes import enough, table_map

Map = Callable[[Floats], Floats]

OTHER = -1
"""Label of entities that are no object: the arm, the table."""
SURE = 0.5
"""Chance below which an entity is not taken for an object."""
_AT_ONCE = 8
"""Scenes that are looked at in one go."""
_SPARSE = 20
"""The height of objects is taken from every so many scenes."""


@dataclass(frozen=True)
class Errors:
    """How far readings are from the truth."""

    read: float
    """Share of objects that were found in at least one view."""
    median_cm: float
    """Median distance, of those that were found."""
    most_cm: float
    """Its 95th percentile."""

    @classmethod
    def of(cls, told: NDArray[Any], true: NDArray[Any]) -> "Errors":
        """Compare places (..., 2) in meters, NaN where nothing was read."""
        gap = 100 * np.linalg.norm(told - true, axis=-1).ravel()
        found = gap[~np.isnan(gap)]
        if not len(found):
            return cls(0.0, float("nan"), float("nan"))
        middle, most = np.percentile(found, (50, 95))
        return cls(len(found) / len(gap), float(middle), float(most))


@dataclass(frozen=True)
class PlaceReader:
    """Tells places on the table by the color of objects."""

    model: Encoder
    """What finds entities."""
    layout: Layout
    """Cameras and size of the frames it was calibrated with."""
    palette: NDArray[np.float32]
    """Colors it knows, (C, 3)."""
    chances: Map
    """From the looks of entities (R, F) to logarithms of their chances to be of each color."""
    one: tuple[Map, ...]
    """For each view, from places in it (R, 1, 2) to the table."""
    every: Map
    """From places in all views (R, V, 2) to the table."""
    tolerance: float
    """Meters by which readings off single views differ though they mean the same object."""
    middle: Floats
    """Mean place of objects, (2,): what is told of an object that was never seen."""
    height: float
    """Height of objects on the table, in meters."""

    def read(self, frames: NDArray[np.uint8], colors: NDArray[np.float32]) -> Floats:
        """Tell where the objects of colors (S, N, 3) are in frames (S, V, H, W, 3).

        Returns:
            x and y in meters, (S, N, 2); NaN for objects that are not found in any view.
        """
        which = self.known_colors(colors)
        parts = [
            self.read_sight(glance(self.model, torch.from_numpy(frames[some]))[0], which[some])
            for some in _pieces(len(frames))
        ]
        return np.concatenate(parts)

    def known_colors(self, colors: NDArray[np.float32]) -> NDArray[np.int64]:
        """Numbers of colors (..., 3) in the palette; no two objects of a scene may share one."""
        same = np.abs(colors[..., None, :] - self.palette).max(-1) < 1e-3  # (..., N, C)
        if not same.any(-1).all():
            strange = color_name(colors[~same.any(-1)][0])
            known = ", ".join(color_name(one) for one in self.palette)
            raise BadValueError(
                f"This reader was not calibrated with the color {strange}, only with {known}. "
                "Calibrate it on frames that show it."
            )
        require(
            bool((same.sum(-2) <= 1).all()),
            "Two objects have the same color: nobody can say which of them is which.",
        )
        return same.argmax(-1)

    def read_sight(self, sight: Sight, which: NDArray[np.int64]) -> Floats:
        """Tell the places (S, N, 2) of objects of known colors (S, N) from what was found."""
        assert sight.places is not None
        scenes, views, count = sight.visible.shape
        chance = self.chances(looks(sight).reshape(scenes * views * count, -1))
        chance = chance.reshape(scenes, views, count, -1)
        chance = np.where(sight.visible[..., None], chance, -np.inf)
        chance = np.take_along_axis(chance, which[:, None, None], -1)  # (S, V, K, N)
        single = np.stack(
            [
                told(sight.places[:, view].reshape(-1, 1, 2)).reshape(scenes, count, 2)
                for view, told in enumerate(self.one)
            ],
            axis=1,
        )  # (S, V, K, 2)
        entity, found = choose(np.moveaxis(chance, -1, 1), single, self.tolerance)  # (S, N, V)
        pick = np.moveaxis(entity, 1, 2)[..., None]  # (S, V, N, 1)
        apart = np.moveaxis(np.take_along_axis(single, pick, 2), 1, 2)  # (S, N, V, 2)
        pixels = np.moveaxis(np.take_along_axis(sight.places, pick, 2), 1, 2)
        places = np.where(found[..., None], apart, 0).sum(2)
        places /= np.where(found.any(-1), found.sum(-1), np.nan)[..., None]
        whole = found.all(-1)
        places[whole] = self.every(pixels[whole])
        return places


def choose(chance: Floats, single: Floats, tolerance: float) -> tuple[NDArray[np.int64], Flags]:
    """Choose for each object an entity in every view, so that views agree where it is.

    Each entity in turn is taken for the object, and the other views say whether they have one at
    the same place; a view that has none as likely as `SURE` abstains.

    Args:
        chance: Logarithm of the chance that an entity is the object, (S, N, V, K).
        single: Place that each entity means by itself, (S, V, K, 2).
        tolerance: Meters that are a usual difference.

    Returns:
        The entities (S, N, V), and whether the view has one at all (S, N, V).
    """
    scenes, objects, views, count = chance.shape
    flat = single.reshape(scenes, views * count, 2)
    gap = np.linalg.norm(flat[:, :, None] - flat[:, None], axis=-1)  # (S, E, E)
    strain = (gap / tolerance) ** 2 / 2
    support = chance.reshape(scenes, objects, 1, -1) - strain[:, None]  # (S, N, E, E)
    support = support.reshape(scenes, objects, views * count, views, count)
    itself = np.repeat(np.arange(views), count)  # (E,) the view that an entity is in
    own = itself[:, None] == np.arange(views)  # (E, V)
    partner = support.argmax(-1)  # (S, N, E, V)
    partner = np.where(own, (np.arange(views * count) % count)[:, None], partner)
    value = np.take_along_axis(support, partner[..., None], -1)[..., 0]
    agreed = value > np.log(SURE)
    total = np.where(own | agreed, value, np.log(SURE)).sum(-1)  # (S, N, E)
    best = total.argmax(-1)[..., None, None]
    return (
        np.take_along_axis(partner, best, 2)[:, :, 0],
        np.take_along_axis(agreed, best, 2)[:, :, 0],
    )


def looks(sight: Sight) -> Floats:
    """What tells an object's color from an entity, (S, V, K, F): features and size, squared."""
    columns = sight.features.astype(np.float64)
    if sight.reach is not None:
        columns = np.concatenate((columns, sight.reach), -1)
    return quadratic(columns.reshape(-1, columns.shape[-1])).reshape(*columns.shape[:-1], -1)


def calibrate(
    model: Encoder, folder: str | Path, limit: int | None = None
) -> tuple[PlaceReader, Errors]:
    """Fit a reader on one half of a folder's episodes, and score it on the other.

    Args:
        model: An encoder whose entities have places.
        folder: Frames with truth, of the cameras and colors that shall be read.
        limit: Most scenes to look at, from the beginning; all by default.
    """
    if glance(model, torch.from_numpy(Frames(folder).batch([0])))[0].places is None:
        raise BadValueError(
            "This encoder finds vectors, and a vector has no places. Read with one that finds "
            "particles or slots, such as dlp-6cubes."
        )
    study = Study.of(model, folder, limit)
    known = study.known
    classes, chances = odds(*_examples(study))
    colors = classes[classes != OTHER]
    reader = PlaceReader(
        model=model,
        layout=study.frames.layout,
        palette=study.palette[colors],
        chances=lambda columns: chances(columns)[:, classes != OTHER],
        **_maps(study),
        height=_height(folder, study),
    )
    scored = known.scored[:, None] & known.visible.any(1) & np.isin(known.colors, colors)  # (S, N)
    told = np.full_like(known.positions, np.nan)
    which = np.searchsorted(colors, known.colors).clip(max=len(colors) - 1)
    for some in _pieces(len(told)):
        told[some] = reader.read_sight(_part(study.sight, some), which[some])
    return reader, Errors.of(told[scored], known.positions[scored])


def _examples(study: Study) -> tuple[Floats, NDArray[np.int64]]:
    """Looks of entities (R, F) and their color, or `OTHER`; doubtful ones are left out."""
    known, sight, service, ground = study.known, study.sight, study.service, study.ground
    assert service is not None
    assert ground is not None
    doubtful = OTHER - 1
    labels = np.where(ground == OBJECT, doubtful, OTHER)  # (S, V, K)
    scene, view, one = np.nonzero(service.recalled & ~service.merged)
    labels[scene, view, service.entity[scene, view, one]] = known.colors[scene, one]
    fit = sight.visible & (labels != doubtful) & ~known.scored[:, None, None]
    require(bool((labels[fit] != OTHER).any()), "No object was found: there is nothing to fit.")
    return looks(sight)[fit], labels[fit]


def _maps(study: Study) -> dict[str, Any]:
    """Maps to the table by `table_map`, how far those of single views differ, and the mean."""
    known, service = study.known, study.service
    assert service is not None
    size, fit = known.masks.shape[2:], ~known.scored
    recalled = service.recalled & fit[:, None, None]  # (S, V, N)
    places = np.moveaxis(places_of(study.sight, service), 1, 2)  # (S, N, V, 2)
    whole = recalled.all(1)
    require(
        enough(known.positions[whole]),
        f"Too few different places in {study.frames.folder} to calibrate with. Collect more.",
    )
    one = tuple(
        table_map(places[seen][:, [view]], known.positions[seen], size)
        for view, seen in enumerate(np.moveaxis(recalled, 1, 0))
    )
    told = [single(places[whole][:, [view]]) for view, single in enumerate(one)]
    gaps = [np.linalg.norm(first - told[0], axis=-1) for first in told[1:]] or [np.ones(1)]
    return {
        "one": one,
        "every": table_map(places[whole], known.positions[whole], size),
        "tolerance": float(np.percentile(np.concatenate(gaps), 95)),
        "middle": known.positions[whole].mean(0),
    }


def _height(folder: str | Path, study: Study) -> float:
    batch = Truth(folder).batch(study.scenes[::_SPARSE])
    heights = batch.positions[..., 2][batch.present]
    return float(np.median(heights[heights > FALLEN]))


def _pieces(count: int) -> Iterator[slice]:
    return (slice(at, at + _AT_ONCE) for at in range(0, count, _AT_ONCE))


def _part(sight: Sight, some: slice) -> Sight:
    assert sight.places is not None
    return replace(
        sight,
        features=sight.features[some],
        visible=sight.visible[some],
        places=sight.places[some],
        reach=None if sight.reach is None else sight.reach[some],
    )
