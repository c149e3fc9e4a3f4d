"""Measuring an encoder on a folder of frames: all numbers, and what they were taken from."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.frames.batches import Indices
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth
from jostle.probing.looking import Encoder, Flags, Floats, Sight, look
from jostle.probing.matching import ARM, NOTHING, OBJECT, Service, faint, grounds, serve
from jostle.probing.numbers import Numbers, mean, median, percentile
from jostle.probing.objects import Known, know
from jostle.probing.probes import guess_errors, shifts, table_errors, told_colors, vector_errors
from jostle.scene.colors import COLORS

Kind = Literal["particles", "slots", "vector"]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The numbers of one encoder on one folder."""

    name: str
    """Name of the folder."""
    kind: Kind
    """What the encoder's entities are."""
    scenes: int
    """Scenes looked at."""
    total: Numbers
    """All objects in all views."""
    views: dict[str, Numbers]
    """By camera."""
    counts: dict[str, Numbers]
    """By the number of objects in the scene."""
    colors: dict[str, Numbers]
    """By the object's color."""

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain data."""
        parts = {"views": self.views, "counts": self.counts, "colors": self.colors}
        return {
            "name": self.name,
            "kind": self.kind,
            "scenes": self.scenes,
            "total": self.total.to_dict(),
            **{by: {key: one.to_dict() for key, one in got.items()} for by, got in parts.items()},
        }


def measure(model: Encoder, folder: str | Path, limit: int | None = None) -> Measured:
    """Measure an encoder on a folder that `jostle collect` made.

    Args:
        model: DLP, slots or VAE, or anything with their face.
        folder: Frames with truth.
        limit: Most scenes to look at, from the beginning; all by default.
    """
    return Study.of(model, folder, limit).measured()


@dataclass(frozen=True)
class Study:
    """What an encoder found in scenes beside what is true; numbers are taken from its cases."""

    frames: Frames
    """Where the scenes come from."""
    palette: NDArray[np.float32]
    """Colors that color numbers count through, (P, 3)."""
    scenes: Indices
    """Which ones, (S,)."""
    sight: Sight
    """What was found."""
    known: Known
    """What is true."""

    @classmethod
    def of(cls, model: Encoder, folder: str | Path, limit: int | None = None) -> "Study":
        """Show a folder's scenes to an encoder."""
        frames, truth = Frames(folder), Truth(folder)
        require(limit is None or limit > 0, f"limit is a number of scenes above 0, not {limit}.")
        scenes = truth.scenes[:limit]
        sight, known = look(model, frames, scenes), know(frames, truth, scenes)
        return cls(frames, truth.palette, scenes, sight, known)

    @property
    def kind(self) -> Kind:
        """What the encoder's entities are."""
        if self.sight.places is None:
            return "vector"
        return "particles" if self.sight.winners is None else "slots"

    @cached_property
    def service(self) -> Service | None:
        """Who serves the objects; None for vectors."""
        return serve(self.sight, self.known) if self.sight.places is not None else None

    @cached_property
    def cases(self) -> dict[str, Floats]:
        """Single measurements of objects, NaN where there is none: (S, V, N), table ones (S, N)."""
        sight, known, service = self.sight, self.known, self.service
        found = {
            "table_best": table_errors(known.centers, known.visible, known),
            "table_guess": guess_errors(known),
        }
        if service is None:
            return {**found, "table": vector_errors(sight, known)}
        seen = known.visible
        right, guess = told_colors(sight, service, known)
        return {
            **found,
            "recall": np.where(seen, service.recalled, np.nan),
            "error": np.where(service.recalled, service.error, np.nan),
            "error_all": np.where(seen, service.error, np.nan),
            "faint": np.where(
                seen & (sight.reach is not None), faint(sight, service, known), np.nan
            ),
            "merged": np.where(seen, service.merged, np.nan),
            "color": right,
            "color_guess": guess,
            "jitter": shifts(sight, service, known),
            "table": table_errors(self.places, service.recalled, known),
        }

    @cached_property
    def places(self) -> Floats:
        """Where what serves an object is, in pixels, (S, V, N, 2)."""
        assert self.sight.places is not None
        assert self.service is not None
        return np.take_along_axis(self.sight.places, self.service.entity[..., None], 2)

    @cached_property
    def ground(self) -> NDArray[np.int64] | None:
        """What entities sit on, (S, V, K)."""
        return grounds(self.sight, self.known) if self.sight.places is not None else None

    def measured(self) -> Measured:
        """Take all numbers."""
        known, names = self.known, [camera["name"] for camera in self.frames.layout.cameras]
        shape = known.visible.shape
        every = np.ones(shape, dtype=bool)
        view = np.arange(shape[1])[None, :, None]
        counts, colors = known.counts[:, None, None], known.colors[:, None, :]
        return Measured(
            name=self.frames.folder.name,
            kind=self.kind,
            scenes=len(self.scenes),
            total=self.numbers(every),
            views={name: self.numbers(every & (view == v)) for v, name in enumerate(names)},
            counts={
                str(count): self.numbers(every & (counts == count))
                for count in np.unique(known.counts)
            },
            colors={
                color_name(self.palette[color]): self.numbers(every & (colors == color), False)
                for color in np.unique(known.colors[known.colors >= 0])
            },
        )

    def numbers(self, which: Flags, images: bool = True) -> Numbers:
        """Take the numbers of some objects (S, V, N), and of the images that these are in."""
        cases, everywhere = self.cases, which.all(1)  # (S, N)

        def some(name: str) -> Floats:
            found = cases.get(name, np.full(which.shape, np.nan))
            return found[everywhere if found.ndim == 2 else which]

        def cm(name: str) -> float | None:
            found = median(some(name))
            return None if found is None else 100 * found

        return Numbers(
            objects=int((which & self.known.visible).sum()),
            recall=mean(some("recall")),
            error_px=median(some("error")),
            error_px_95=percentile(some("error"), 95),
            error_all_px=median(some("error_all")),
            error_all_px_95=percentile(some("error_all"), 95),
            faint=mean(some("faint")),
            merged=mean(some("merged")),
            color=mean(some("color")),
            color_guess=mean(some("color_guess")),
            jitter_px=median(some("jitter")),
            jitter_px_95=percentile(some("jitter"), 95),
            table_cm=cm("table"),
            table_best_cm=cm("table_best"),
            table_guess_cm=cm("table_guess"),
            **(self._of_images(np.asarray(which.any(-1))) if images else {}),
        )

    def _of_images(self, images: Flags) -> dict[str, float | None]:
        """Take the numbers of some images, (S, V)."""
        found = {"psnr": mean(self.sight.psnr[images]), "images_per_second": self.sight.rate}
        if self.ground is None:
            return found
        visible = self.sight.visible[images]  # (I, K)
        on, crowd = self.ground[images][visible], visible.sum(-1).astype(np.float64)
        return {
            **found,
            "on_object": mean(on == OBJECT),
            "on_arm": mean(on == ARM),
            "on_nothing": mean(on == NOTHING),
            "particles": mean(crowd),
            "particles_95": percentile(crowd, 95),
        }


def color_name(rgb: NDArray[np.float32]) -> str:
    """Name of a color, or its hexadecimal code if it has none."""
    for name, own in COLORS.items():
        if np.allclose(rgb, own, atol=1e-3):
            return name
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in rgb)
