"""Frames to films and contact sheets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, JostleError

Frame = NDArray[np.uint8]
_GAP = 4
_PAPER = 255


class MissingExtraError(JostleError, ImportError):
    """An optional package is needed and not installed."""


def save_film(frames: Sequence[Frame], path: Path, fps: int = 6) -> Path:
    """Write frames as .mp4 or .gif, by the ending of `path`."""
    if path.suffix not in (".mp4", ".gif"):
        raise BadValueError(f"A film ends in .mp4 or .gif, not '{path.suffix}' ({path}).")
    writer = _imageio()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gif":
        writer.mimsave(path, [np.asarray(one) for one in frames], duration=1000 / fps, loop=0)
    else:
        even = [_even(one) for one in frames]
        writer.mimsave(path, even, fps=fps, codec="libx264", quality=8, macro_block_size=1)
    return path


def save_picture(frame: Frame, path: Path) -> Path:
    """Write one picture as PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _imageio().imwrite(path, frame)
    return path


def beside(*frames: Frame) -> Frame:
    """Put pictures of one height side by side."""
    gap = np.full((frames[0].shape[0], _GAP, 3), _PAPER, np.uint8)
    parts: list[Frame] = []
    for frame in frames:
        parts += [frame, gap]
    return np.concatenate(parts[:-1], axis=1)


def sheet(frames: Sequence[Frame], columns: int, titles: Sequence[str] = ()) -> Frame:
    """Lay pictures out in rows, with a title above each."""
    named = [titled(frame, titles[index] if titles else "") for index, frame in enumerate(frames)]
    blank = np.full_like(named[0], _PAPER)
    rows = []
    for start in range(0, len(named), columns):
        row = named[start : start + columns]
        rows.append(beside(*row, *[blank] * (columns - len(row))))
    gap = np.full((_GAP, rows[0].shape[1], 3), _PAPER, np.uint8)
    stacked: list[Frame] = []
    for line in rows:
        stacked += [line, gap]
    return np.concatenate(stacked[:-1], axis=0)


def titled(frame: Frame, title: str) -> Frame:
    """Add a strip with a title above a picture."""
    if not title:
        return frame
    return np.concatenate((_strip(title, frame.shape[1], frame.shape[0] // 14), frame), axis=0)


def captioned(frame: Frame, caption: str) -> Frame:
    """Add a strip with a line of small text below a picture."""
    return np.concatenate((frame, _strip(caption, frame.shape[1], frame.shape[0] // 20)), axis=0)


def _strip(text: str, width: int, size: int) -> Frame:
    """A line of text, in letters of at least 12 pixels."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise missing("pillow") from error
    size = max(12, size)
    strip = Image.new("RGB", (width, size + 8), (_PAPER,) * 3)
    font = ImageFont.load_default(size)
    ImageDraw.Draw(strip).text((4, 2), text, fill=(40, 40, 40), font=font)
    return np.asarray(strip)


def _even(frame: Frame) -> Frame:
    """Pad to even sides, which the film's codec wants."""
    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _imageio() -> Any:
    try:
        import imageio.v2 as imageio
    except ImportError as error:
        raise missing("imageio") from error
    return imageio


def missing(package: str) -> MissingExtraError:
    """Say how to get a package that drawing needs."""
    return MissingExtraError(
        f"Films and pictures need '{package}'. Install it with: pip install 'jostle[report]'"
    )
