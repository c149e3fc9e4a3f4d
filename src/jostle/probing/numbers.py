"""The numbers that tell whether an encoder will do, and how they are taken from single cases."""

import ast
import inspect
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """How well an encoder sees some objects; None where a number makes no sense or nothing counts.

    An object on the table counts in each view in which at least 30 % of its own pixels are seen;
    those that fell off do not. Its middle is the mean of its visible pixels. It is served by the
    nearest visible particle, or by the slot that wins most of its visible pixels, and recalled if
    that is within 4 px of its middle.
    """

    objects: int
    """Visible objects that were looked for, each counted in each view and scene."""
    recall: float | None = None
    """Share of them that are recalled."""
    error_px: float | None = None
    """Median distance of what serves a recalled object from its middle, in pixels."""
    error_px_95: float | None = None
    """95th percentile of that, of recalled objects."""
    error_all_px: float | None = None
    """Median distance, of all visible objects."""
    error_all_px_95: float | None = None
    """95th percentile, of all visible objects."""
    faint: float | None = None
    """Share of visible objects that are not recalled only because the particle there is off."""
    merged: float | None = None
    """Share of visible objects that share what serves them with another: both middles in one
    particle's box, or more than half of the pixels of both won by one slot."""
    color: float | None = None
    """Share of recalled objects whose color a linear map tells from the features (held out)."""
    color_guess: float | None = None
    """The same, when always guessing the commonest color."""
    jitter_px: float | None = None
    """Median shift of what serves a resting, wholly visible, recalled object from one scene to
    the next, in pixels."""
    jitter_px_95: float | None = None
    """95th percentile of that."""
    table_cm: float | None = None
    """Median error of an object's place on the table, read off its places in all views (quadratic
    map, objects recalled in all views) or off a vector (linear map per color); held out, in cm."""
    table_best_cm: float | None = None
    """The same, read off the true middles."""
    table_guess_cm: float | None = None
    """The same, when always guessing the mean place."""
    on_object: float | None = None
    """Share of visible particles with a pixel of an object within 2 px."""
    on_arm: float | None = None
    """Share of visible particles that are on no object and have a pixel of the arm within 2 px."""
    on_nothing: float | None = None
    """Share of the other visible particles."""
    particles: float | None = None
    """Visible particles (or slots that win a pixel) per image, mean."""
    particles_95: float | None = None
    """95th percentile of that."""
    psnr: float | None = None
    """Mean quality of reconstructions, in dB."""
    images_per_second: float | None = None
    """Images encoded per second, in batches of 32 images; noisy, and a matter of the machine."""

    def to_dict(self) -> dict[str, Any]:
        """Give all numbers as plain data."""
        return asdict(self)


def meanings() -> dict[str, str]:
    """What each number means, by its name: the docstrings above."""
    body = ast.parse(inspect.getsource(Numbers)).body[0]
    assert isinstance(body, ast.ClassDef)
    said = {}
    for field, text in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            said[ast.unparse(field.target)] = " ".join(ast.literal_eval(text.value).split())
    return said


def mean(values: NDArray[Any]) -> float | None:
    """Mean of what is known; None if nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def median(values: NDArray[Any]) -> float | None:
    """Middle of what is known."""
    return percentile(values, 50)


def percentile(values: NDArray[Any], rank: float) -> float | None:
    """Value that `rank` percent of what is known do not exceed."""
    known = values[np.isfinite(values)]
    return float(np.percentile(known, rank)) if len(known) else None
