"""Videos, images and contact sheets from frames."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.checks import check_int
from jostle.core.errors import BadValueError
from jostle.core.extras import missing_package, require_packages

Frame = NDArray[np.uint8]
WHAT = "Writing images and videos"
"""What the extra 'report' is needed for."""
_GAP = 4
_WHITE = 255


def check_packages(video: bool = True) -> None:
    """Refuse to start without the packages that write images, and videos."""
    require_packages(WHAT, "PIL", "imageio", *(("imageio_ffmpeg",) if video else ()))


def save_video(frames: Sequence[Frame], path: Path, fps: int = 6) -> Path:
    """Write frames as .mp4 or .gif, by the suffix of `path`."""
    if path.suffix not in (".mp4", ".gif"):
        raise BadValueError(f"A video ends in .mp4 or .gif, not '{path.suffix}' ({path}).")
    check_int("fps", fps, 1)
    writer = _imageio()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gif":
        writer.mimsave(path, [np.asarray(frame) for frame in frames], duration=1000 / fps, loop=0)
    else:
        even = [_pad_to_even(frame) for frame in frames]
        writer.mimsave(path, even, fps=fps, codec="libx264", quality=8, macro_block_size=1)
    return path


def save_image(frame: Frame, path: Path) -> Path:
    """Write one image as PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _imageio().imwrite(path, frame)
    return path


def hstack(*frames: Frame) -> Frame:
    """Place images of equal height side by side, with gaps."""
    gap = np.full((frames[0].shape[0], _GAP, 3), _WHITE, np.uint8)
    parts: list[Frame] = []
    for frame in frames:
        parts += [frame, gap]
    return np.concatenate(parts[:-1], axis=1)


def contact_sheet(frames: Sequence[Frame], columns: int, titles: Sequence[str] = ()) -> Frame:
    """Lay images out in a grid, with a title above each."""
    tiles = [
        with_title(frame, titles[index] if titles else "") for index, frame in enumerate(frames)
    ]
    blank = np.full_like(tiles[0], _WHITE)
    rows = []
    for start in range(0, len(tiles), columns):
        row = tiles[start : start + columns]
        rows.append(hstack(*row, *[blank] * (columns - len(row))))
    gap = np.full((_GAP, rows[0].shape[1], 3), _WHITE, np.uint8)
    stacked: list[Frame] = []
    for line in rows:
        stacked += [line, gap]
    return np.concatenate(stacked[:-1], axis=0)


def with_title(frame: Frame, title: str, size: int | None = None) -> Frame:
    """Add a strip with a title above an image; its size in pixels follows the image by default."""
    if not title:
        return frame
    size = frame.shape[0] // 14 if size is None else size
    return np.concatenate((_text_strip(title, frame.shape[1], size), frame), axis=0)


def with_caption(frame: Frame, caption: str) -> Frame:
    """Add a strip with a line of small text below an image."""
    return np.concatenate(
        (frame, _text_strip(caption, frame.shape[1], frame.shape[0] // 20)), axis=0
    )


def _text_strip(text: str, width: int, size: int) -> Frame:
    """Image of one line of text, with letters at least 12 pixels high."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise missing_package(WHAT, "PIL") from error
    size = max(12, size)
    strip = Image.new("RGB", (width, size + 8), (_WHITE,) * 3)
    font = ImageFont.load_default(size)
    ImageDraw.Draw(strip).text((4, 2), text, fill=(40, 40, 40), font=font)
    return np.asarray(strip)


def _pad_to_even(frame: Frame) -> Frame:
    """Pad to even height and width, which the video codec needs."""
    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _imageio() -> Any:
    try:
        import imageio.v2 as imageio
    except ImportError as error:
        raise missing_package(WHAT, "imageio") from error
    return imageio
