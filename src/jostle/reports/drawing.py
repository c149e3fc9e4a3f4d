"""Images of what an encoder detects: particles and slots on frames, glimpses, close-ups."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.extras import missing_package
from jostle.probing.examples import FailureCase, SceneExample
from jostle.reports.video import WHAT, Frame, contact_sheet, hstack

_BOX, _CENTER, _HIDDEN, _MISSED = (255, 0, 200), (255, 140, 0), (130, 130, 130), (220, 0, 0)
_WEAK, _STRONG = np.array((175, 165, 175)), np.array((255, 0, 120))
"""Colors of boxes with the smallest and with the largest weight."""
_SLOT_COLORS = np.array(
    [(31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (148, 103, 189), (140, 86, 75),
     (227, 119, 194), (127, 127, 127), (188, 189, 34), (23, 190, 207)], np.uint8,
)  # fmt: skip
"""Colors of slots."""
_WHITE = 255


def enlarge(image: Frame, factor: int) -> Frame:
    """Repeat every pixel."""
    return image.repeat(factor, axis=0).repeat(factor, axis=1)


def draw_detections(shown: SceneExample, view: int, factor: int = 2) -> Frame:
    """One view with boxes and centers of particles, and rings around objects that were missed.

    Of slots, the pixels are tinted by the slot with the largest mask.
    """
    frame = shown.frames[view]
    if shown.slot_argmax is not None:
        slot = shown.slot_argmax[view]
        tinted = (frame // 2 + _SLOT_COLORS[slot % len(_SLOT_COLORS)] // 2).astype(np.uint8)
        frame = np.where((slot < shown.visible.shape[1])[..., None], tinted, frame)
    image, draw = canvas(enlarge(frame, factor))
    visible = shown.visible[view]
    if shown.positions is not None:
        half_extent = None if shown.half_extent is None else shown.half_extent[view][visible]
        for hidden in shown.positions[view][~visible] if half_extent is not None else ():
            draw.ellipse(_box(hidden, np.full(2, 0.5), factor), fill=_HIDDEN)
        draw_particles(draw, shown.positions[view][visible], half_extent, factor)
    for center in shown.centers[view][shown.missed[view]]:
        draw.ellipse(_box(center, np.full(2, 6.0), factor), outline=_MISSED, width=2)
    return np.asarray(image)


def draw_particles(
    draw: Any,
    positions: NDArray[Any],
    half_extent: NDArray[Any] | None,
    factor: float,
    weights: NDArray[Any] | None = None,
) -> None:
    """Draw centers of particles (K, 2) and boxes around them.

    Args:
        draw: Drawing interface of an image.
        positions: Rows and columns.
        half_extent: Half of the height and width of each box, (K, 2); without it no boxes.
        factor: Pixels of the image per pixel of the coordinates.
        weights: Weight of each particle, (K,) in [0, 1]: thicker and more vivid boxes.
    """
    if half_extent is not None:
        order = range(len(positions)) if weights is None else np.argsort(weights, kind="stable")
        for index in order:
            box = _box(positions[index], half_extent[index], factor)
            if weights is None:
                draw.rectangle(box, outline=_BOX)
            else:
                color = tuple(np.rint(_WEAK + weights[index] * (_STRONG - _WEAK)).astype(int))
                draw.rectangle(box, outline=color, width=1 + round(weights[index] * 1.5 * factor))
    for position in positions:
        draw.ellipse(_box(position, np.full(2, 0.6), factor), fill=_CENTER)


def draw_glimpses(
    shown: SceneExample, view: int, columns: int = 6, factor: int = 2
) -> Frame | None:
    """Decoded glimpses of the visible particles of one view, ordered from top to bottom."""
    if shown.glimpses is None or shown.positions is None or not shown.visible[view].any():
        return None
    visible = np.flatnonzero(shown.visible[view])
    visible = visible[np.argsort(shown.positions[view][visible, 0], kind="stable")]
    tiles = [enlarge(glimpse, factor) for glimpse in shown.glimpses[view][visible]]
    blank = np.full_like(tiles[0], _WHITE)
    tiles += [blank] * (-len(tiles) % columns)
    rows = [hstack(*tiles[start : start + columns]) for start in range(0, len(tiles), columns)]
    gap = np.full((4, rows[0].shape[1], 3), _WHITE, np.uint8)
    return np.concatenate([part for row in rows for part in (row, gap)][:-1])


def close_up(case: FailureCase, side: int = 40, factor: int = 4) -> Frame:
    """Crop around an object with a large error: detections, and reconstruction."""
    view = case.view
    corner = np.rint(case.scene.centers[view, case.object]).astype(int) - side // 2
    images = (
        draw_detections(case.scene, view, factor), enlarge(case.scene.reconstruction[view], factor)
    )  # fmt: skip
    return hstack(*(_crop(image, corner * factor, side * factor) for image in images))


def gallery(
    folders: Sequence[tuple[str, Sequence[SceneExample], Sequence[FailureCase]]], most: int = 10
) -> dict[str, Frame]:
    """Contact sheets of up to `most` folders, given with their scenes and failures, by file suffix.

    "" shows detections and reconstruction of the first scene of each folder, "-worst" the objects
    with the largest errors.
    """
    indices = np.unique(np.linspace(0, len(folders) - 1, most).astype(int))
    scenes = [(name, shown[0]) for name, shown, _ in (folders[i] for i in indices) if shown]
    cases = [(name, case) for name, _, failures in folders for case in failures]
    cases = sorted(cases, key=lambda pair: -pair[1].error)[: 2 * most]
    sheets = {}
    if scenes:
        images = [
            hstack(draw_detections(scene, 0), enlarge(scene.reconstruction[0], 2))
            for _, scene in scenes
        ]
        sheets[""] = contact_sheet(images, 2, [name for name, _ in scenes])
    if cases:
        titles = [f"{name}: {caption(case)}" for name, case in cases]
        sheets["-worst"] = contact_sheet([close_up(case) for _, case in cases], 4, titles)
    return sheets


def caption(case: FailureCase) -> str:
    """Color, camera and error of a failure."""
    return f"{case.color}, {case.camera}, error {case.error:.1f} px"


def png(frame: Frame, colors: int = 0) -> bytes:
    """Encode a PNG; a palette of `colors` colors makes it smaller."""
    from PIL import Image

    image, file = Image.fromarray(frame), io.BytesIO()
    if colors:  # the default method would turn small bright cubes gray
        image = image.quantize(colors, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def canvas(frame: Frame) -> tuple[Any, Any]:
    """A copy of a frame as a PIL image, and the interface to draw on it."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise missing_package(WHAT, "PIL") from error
    image = Image.fromarray(frame)
    return image, ImageDraw.Draw(image)


def _box(position: NDArray[Any], half_extent: NDArray[Any], factor: float) -> list[float]:
    """Corners of a box in an enlarged image; pixel centers are at half coordinates."""
    row, column = (np.clip(position, -1e4, 1e4) + 0.5) * factor
    half_height, half_width = half_extent * factor
    return [column - half_width, row - half_height, column + half_width, row + half_height]


def _crop(image: Frame, corner: NDArray[Any], side: int) -> Frame:
    """Square crop; white where it extends beyond the image."""
    rows, columns = (np.arange(start, start + side) for start in corner)
    height, width = image.shape[:2]
    crop = image[rows.clip(0, height - 1)][:, columns.clip(0, width - 1)]
    crop[(rows < 0) | (rows >= height)] = _WHITE
    crop[:, (columns < 0) | (columns >= width)] = _WHITE
    return crop
