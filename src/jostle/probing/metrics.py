"""Metrics of an encoder, and how they summarize single measurements."""

import ast
import inspect
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class EncoderMetrics:
    """How well an encoder represents some objects; None where a metric does not apply.

    An object on the table counts in each view in which at least 30 % of its own pixels are visible;
    objects that fell off do not count. Its center is the mean of its visible pixels. It is matched
    to the nearest visible particle, or to the slot with most of its visible pixels, and recalled if
    that is within 4 px of its center.
    """

    objects: int
    """Visible objects, each counted in each view and scene."""
    recall: float | None = None
    """Fraction of them that are recalled."""
    error_px: float | None = None
    """Median distance of a recalled object's center from its entity, in pixels."""
    error_px_95: float | None = None
    """95th percentile of that distance, of recalled objects."""
    error_all_px: float | None = None
    """Median distance, of all visible objects."""
    error_all_px_95: float | None = None
    """95th percentile, of all visible objects."""
    below_threshold: float | None = None
    """Fraction of visible objects that are not recalled only because the particle near them is
    below the opacity threshold."""
    merged: float | None = None
    """Fraction of visible objects that share their entity with another one: both centers in one
    particle's box, or more than half of the pixels of both in one slot."""
    color: float | None = None
    """Accuracy of a linear probe for color from the features of recalled objects (held out)."""
    color_guess: float | None = None
    """Accuracy of always guessing the most frequent color."""
    jitter_px: float | None = None
    """Median shift of the entity of a static, unoccluded, recalled object from one scene to the
    next, in pixels."""
    jitter_px_95: float | None = None
    """95th percentile of that shift."""
    table_cm: float | None = None
    """Median error of an object's position on the table, estimated from its positions in all views
    (quadratic map, objects recalled in all views) or from a vector (linear map per color); held
    out, in cm."""
    table_best_cm: float | None = None
    """The same, estimated from the true centers."""
    table_guess_cm: float | None = None
    """The same, when always guessing the mean position."""
    on_object: float | None = None
    """Fraction of visible particles with a pixel of an object within 2 px."""
    on_arm: float | None = None
    """Fraction of visible particles that are on no object and have a pixel of the arm within
    2 px."""
    on_nothing: float | None = None
    """Fraction of the other visible particles."""
    particles: float | None = None
    """Visible particles (or slots with a pixel) per image, mean."""
    particles_95: float | None = None
    """95th percentile of that number."""
    psnr: float | None = None
    """Mean peak signal-to-noise ratio of reconstructions, in dB."""
    images_per_second: float | None = None
    """Images encoded per second, in batches of 32 images; noisy, and dependent on the machine."""

    def to_dict(self) -> dict[str, Any]:
        """All metrics as plain data."""
        return asdict(self)


def metric_descriptions() -> dict[str, str]:
    """Description of each metric, by its name: the docstrings above."""
    body = ast.parse(inspect.getsource(EncoderMetrics)).body[0]
    assert isinstance(body, ast.ClassDef)
    descriptions = {}
    for field, text in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            docstring = " ".join(ast.literal_eval(text.value).split())
            descriptions[ast.unparse(field.target)] = docstring
    return descriptions


def mean(values: NDArray[Any]) -> float | None:
    """Mean of the finite values; None if there are none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


def median(values: NDArray[Any]) -> float | None:
    """Median of the finite values; None if there are none."""
    return percentile(values, 50)


def percentile(values: NDArray[Any], rank: float) -> float | None:
    """Percentile of the finite values; None if there are none."""
    finite = values[np.isfinite(values)]
    return float(np.percentile(finite, rank)) if len(finite) else None
