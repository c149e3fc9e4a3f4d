"""Layout of videos: for each agent its name, views, and the distance of each object to its goal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.extras import missing_package
from jostle.reports.video import WHAT, Frame, contact_sheet, hstack

RGB = tuple[float, float, float]
_BACKGROUND, _TEXT, _FAINT = (27, 30, 34), (238, 240, 242), (150, 156, 163)
_SUCCESS = (122, 214, 122)
_MIN_LUMINANCE = 120
"""Luminance up to which the color of an object is mixed with white where it colors text."""
_MIN_LABELED = 80
"""Height in pixels of the smallest images that have a label."""
_SHEET_TILES = 8
"""Steps that a contact sheet shows, beside the goal."""


@dataclass(frozen=True)
class Panel:
    """What a video shows of one agent: T + 1 frames of an episode with N objects."""

    title: str
    """Name of the agent."""
    views: Mapping[str, NDArray[np.uint8]]
    """Frames per camera, (T + 1, H, W, 3)."""
    distances: NDArray[np.float32]
    """Distance of each object to its goal, (T + 1, N), in `unit`."""
    reached: NDArray[np.bool_]
    """Whether each object is at its goal, (T + 1, N)."""
    colors: Sequence[RGB]
    """Color of each object, in [0, 1]."""
    unit: str
    """Unit of the distances."""
    beside: Sequence[Frame] = ()
    """An image as high as the views for each step, shown beside them; may be empty."""


def draw_frame(panels: Sequence[Panel], step: int) -> Frame:
    """One frame of a video: the panels side by side."""
    return hstack(*(_draw_panel(panel, step) for panel in panels), color=_BACKGROUND)


def draw_frames(panels: Sequence[Panel]) -> list[Frame]:
    """All frames of a video."""
    return [draw_frame(panels, step) for step in range(len(panels[0].distances))]


def draw_sheet(frames: Sequence[Frame], goals: Mapping[str, Frame]) -> Frame:
    """A contact sheet of a video: the goal once, then some of its frames."""
    shown = np.unique(np.linspace(0, len(frames) - 1, _SHEET_TILES).astype(int))
    goal = _centered(hstack(*goals.values(), color=_BACKGROUND), frames[0].shape)
    tiles = [with_label(goal, "goal"), *(frames[index] for index in shown)]
    height, width = frames[0].shape[:2]
    return contact_sheet(tiles, 3 if width < 2 * height else 2)


def with_label(frame: Frame, label: str) -> Frame:
    """A copy of an image with a label in its upper left corner, unless it is too small for one."""
    if len(frame) < _MIN_LABELED:
        return frame
    size = int(np.clip(len(frame) // 24, 10, 22))
    strip, draw, font = _strip(frame.shape[1], size)
    width = min(frame.shape[1], int(draw.textlength(label, font=font)) + size)
    draw.text((size // 2, _row_height(size) // 2), label, fill=_TEXT, font=font, anchor="lm")
    tag, labeled = np.asarray(strip)[:, :width], frame.copy()
    labeled[: len(tag), :width] = tag[: len(frame)]
    return labeled


def _draw_panel(panel: Panel, step: int) -> Frame:
    """Title, views and distances of one agent, from top to bottom."""
    images = [
        with_label(view[step], name) if len(panel.views) > 1 else view[step]
        for name, view in panel.views.items()
    ]
    body = hstack(*images, *panel.beside[step : step + 1], color=_BACKGROUND)
    size = int(np.clip(len(body) // 22, 11, 26))
    title = _title(panel, step, body.shape[1], size)
    return np.concatenate((title, body, _distances(panel, step, body.shape[1], size)))


def _title(panel: Panel, step: int, width: int, size: int) -> Frame:
    """A line with the agent's name, the step, and whether all objects are at their goals."""
    image, draw, font = _strip(width, size)
    middle = _row_height(size) // 2
    draw.text((size // 2, middle), panel.title, fill=_TEXT, font=font, anchor="lm")
    success = bool(panel.reached[step].all())
    texts = [("success", _SUCCESS)] if success else []
    texts += [(f"step {step}/{len(panel.distances) - 1}", _FAINT)]
    right = width - size // 2
    for text, color in texts[::-1]:
        right -= draw.textlength(text, font=font)
        draw.text((right, middle), text, fill=color, font=font, anchor="lm")
        right -= size
    return np.asarray(image)


def _distances(panel: Panel, step: int, width: int, size: int) -> Frame:
    """Lines with the distance of each object to its goal, in the object's own color.

    The square before a distance is filled while the object is at its goal.
    """
    places, lines = _cells(panel, width, size)
    image, draw, font = _strip(width, size, lines)
    row_height = _row_height(size)
    for index, (column, line) in enumerate(places):
        color = tuple(round(255 * part) for part in panel.colors[index])
        readable, middle = _readable(color), line * row_height + row_height // 2
        square = [column, middle - size // 3, column + 2 * (size // 3), middle + size // 3]
        filled = color if panel.reached[step, index] else None
        draw.rectangle(square, fill=filled, outline=readable, width=max(1, size // 9))
        text = f"{panel.distances[step, index]:.0f}"
        draw.text((column + size, middle), text, fill=readable, font=font, anchor="lm")
    end = (width - size // 2, (lines - 1) * row_height + row_height // 2)
    draw.text(end, panel.unit, fill=_FAINT, font=font, anchor="rm")
    return np.asarray(image)


def _cells(panel: Panel, width: int, size: int) -> tuple[list[tuple[int, int]], int]:
    """Column in pixels and line of each object's distance, and the number of lines."""
    cell = 7 * size // 2
    unit = size * (2 + len(panel.unit)) // 2  # its room at the end of the last line
    per_line = max(1, (width - size // 2 - unit) // cell)
    places = [
        (size // 2 + cell * (index % per_line), index // per_line)
        for index in range(len(panel.colors))
    ]
    return places, places[-1][1] + 1


def _row_height(size: int) -> int:
    return size + 2 * (size // 3)


def _readable(color: tuple[int, ...]) -> tuple[int, ...]:
    """Mix a color with white until it can be read on the dark background."""
    values = np.array(color, float)
    luminance = float(values @ (0.299, 0.587, 0.114))
    share = max(0.0, (_MIN_LUMINANCE - luminance) / (255 - luminance + 1e-6))
    return tuple(np.rint(values + share * (255 - values)).astype(int).tolist())


def _centered(image: Frame, shape: tuple[int, ...]) -> Frame:
    """An image in the middle of a dark canvas of another shape."""
    canvas = np.full(shape, _BACKGROUND, np.uint8)
    height, width = (min(own, room) for own, room in zip(image.shape, shape[:2], strict=False))
    top, left = (shape[0] - height) // 2, (shape[1] - width) // 2
    canvas[top : top + height, left : left + width] = image[:height, :width]
    return canvas


def _strip(width: int, size: int, lines: int = 1) -> tuple[Any, Any, Any]:
    """A dark image for lines of text of `size` pixels, the interface to draw on it, and a font."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise missing_package(WHAT, "PIL") from error
    image = Image.new("RGB", (width, lines * _row_height(size)), _BACKGROUND)
    return image, ImageDraw.Draw(image), ImageFont.load_default(size)
