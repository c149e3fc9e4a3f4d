"""What an encoder sees, drawn: frames with particles on them, glimpses, slots, close-ups."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.probing.showing import Case, Shown
from jostle.reports.films import Frame, beside, missing, sheet

_BOX, _PLACE, _OFF, _MISSED = (255, 0, 200), (255, 140, 0), (130, 130, 130), (220, 0, 0)
_WEAK, _STRONG = np.array((175, 165, 175)), np.array((255, 0, 120))
"""Boxes without and with all of the strength."""
_SHADES = np.array(
    [(31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (148, 103, 189), (140, 86, 75),
     (227, 119, 194), (127, 127, 127), (188, 189, 34), (23, 190, 207)], np.uint8,
)  # fmt: skip
"""Colors of slots."""
_PAPER = 255


def enlarged(picture: Frame, by: int) -> Frame:
    """Repeat every pixel."""
    return picture.repeat(by, axis=0).repeat(by, axis=1)


def found(shown: Shown, view: int, by: int = 2) -> Frame:
    """One view with what was found: boxes and places of particles, rings where one is missing.

    Slots tint the pixels that they win.
    """
    frame = shown.frames[view]
    if shown.winners is not None:
        winner = shown.winners[view]
        tinted = (frame // 2 + _SHADES[winner % len(_SHADES)] // 2).astype(np.uint8)
        frame = np.where((winner < shown.visible.shape[1])[..., None], tinted, frame)
    image, pen = canvas(enlarged(frame, by))
    there = shown.visible[view]
    if shown.places is not None:
        reach = None if shown.reach is None else shown.reach[view][there]
        for place in shown.places[view][~there] if reach is not None else ():
            pen.ellipse(_box(place, np.full(2, 0.5), by), fill=_OFF)
        mark(pen, shown.places[view][there], reach, by)
    for middle in shown.middles[view][shown.missed[view]]:
        pen.ellipse(_box(middle, np.full(2, 6.0), by), outline=_MISSED, width=2)
    return np.asarray(image)


def mark(
    pen: Any,
    places: NDArray[Any],
    reach: NDArray[Any] | None,
    by: float,
    strength: NDArray[Any] | None = None,
) -> None:
    """Draw places (K, 2) of particles and boxes around them, thick and vivid if they are strong.

    Args:
        pen: Draws on a picture.
        places: Rows and columns.
        reach: Half of the boxes, (K, 2); without it there are only places.
        by: How many pixels of the picture a pixel of the coordinates has.
        strength: Of each, (K,) in [0, 1]; all alike by default.
    """
    if reach is not None:
        for at in range(len(places)) if strength is None else np.argsort(strength, kind="stable"):
            box = _box(places[at], reach[at], by)
            if strength is None:
                pen.rectangle(box, outline=_BOX)
            else:
                shade = tuple(np.rint(_WEAK + strength[at] * (_STRONG - _WEAK)).astype(int))
                pen.rectangle(box, outline=shade, width=1 + round(strength[at] * 1.5 * by))
    for place in places:
        pen.ellipse(_box(place, np.full(2, 0.6), by), fill=_PLACE)


def glimpses(shown: Shown, view: int, columns: int = 6, by: int = 2) -> Frame | None:
    """What the visible particles of one view look like, from the top of the image downward."""
    if shown.glimpses is None or shown.places is None or not shown.visible[view].any():
        return None
    there = np.flatnonzero(shown.visible[view])
    there = there[np.argsort(shown.places[view][there, 0], kind="stable")]
    tiles = [enlarged(one, by) for one in shown.glimpses[view][there]]
    blank = np.full_like(tiles[0], _PAPER)
    tiles += [blank] * (-len(tiles) % columns)
    rows = [beside(*tiles[start : start + columns]) for start in range(0, len(tiles), columns)]
    gap = np.full((4, rows[0].shape[1], 3), _PAPER, np.uint8)
    return np.concatenate([part for row in rows for part in (row, gap)][:-1])


def close_up(case: Case, side: int = 40, by: int = 4) -> Frame:
    """The surroundings of an object that was seen badly, beside what is drawn of them."""
    view = case.view
    corner = np.rint(case.shown.middles[view, case.object]).astype(int) - side // 2
    whole = found(case.shown, view, by), enlarged(case.shown.drawn[view], by)
    return beside(*(_cut(picture, corner * by, side * by) for picture in whole))


def gallery(
    folders: Sequence[tuple[str, Sequence[Shown], Sequence[Case]]], most: int = 8
) -> dict[str, Frame]:
    """Sheets of a few folders, given with their scenes and worst cases, by an ending for a file.

    "" shows what was found and drawn in the first scene of each, "-worst" what was seen worst.
    """
    some = [folders[at] for at in np.unique(np.linspace(0, len(folders) - 1, most).astype(int))]
    scenes = [(name, shown[0]) for name, shown, _ in some if shown]
    cases = [(name, one) for name, _, several in folders for one in several]
    cases = sorted(cases, key=lambda pair: -pair[1].error)[: 2 * most]
    sheets = {}
    if scenes:
        pictures = [beside(found(one, 0), enlarged(one.drawn[0], 2)) for _, one in scenes]
        sheets[""] = sheet(pictures, 2, [name for name, _ in scenes])
    if cases:
        titles = [f"{name}: {caption(one)}" for name, one in cases]
        sheets["-worst"] = sheet([close_up(one) for _, one in cases], 4, titles)
    return sheets


def caption(case: Case) -> str:
    """Say what happened."""
    return f"{case.color}, {case.camera}, {case.error:.1f} px off"


def png(picture: Frame, colors: int = 0) -> bytes:
    """Write a PNG; with a palette of its own of so many `colors`, it is smaller."""
    from PIL import Image

    image, file = Image.fromarray(picture), io.BytesIO()
    if colors:  # the default method would paint small bright cubes gray
        image = image.quantize(colors, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def canvas(picture: Frame) -> tuple[Any, Any]:
    """A copy of a picture, and a pen to draw on it."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise missing("pillow") from error
    image = Image.fromarray(picture)
    return image, ImageDraw.Draw(image)


def _box(place: NDArray[Any], reach: NDArray[Any], by: float) -> list[float]:
    """Corners around a place in an enlarged picture; the middle of a pixel is half a pixel in."""
    (row, column), (down, across) = (np.clip(place, -1e4, 1e4) + 0.5) * by, reach * by
    return [column - across, row - down, column + across, row + down]


def _cut(picture: Frame, corner: NDArray[Any], side: int) -> Frame:
    rows, columns = (np.arange(start, start + side) for start in corner)
    height, width = picture.shape[:2]
    cut = picture[rows.clip(0, height - 1)][:, columns.clip(0, width - 1)]
    outside = (rows < 0) | (rows >= height)
    cut[outside] = _PAPER
    cut[:, (columns < 0) | (columns >= width)] = _PAPER
    return cut
