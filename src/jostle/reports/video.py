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
_COLORED = 70
"""Difference of the largest and the smallest of red, green and blue in a pixel that is colored."""


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
    part = path.with_name(f".{path.stem}.part{path.suffix}")  # a video is written whole or not
    try:
        if path.suffix == ".gif":
            _save_gif(frames, part, fps)
        else:
            even = [_pad_to_even(frame) for frame in frames]
            writer.mimsave(part, even, fps=fps, codec="libx264", quality=8, macro_block_size=1)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def save_image(frame: Frame, path: Path) -> Path:
    """Write one image as PNG, whole or not at all."""
    image = _pil().fromarray(frame)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        image.save(part, "PNG", optimize=True)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def hstack(*frames: Frame, color: tuple[int, int, int] = (_WHITE,) * 3) -> Frame:
    """Place images side by side, with gaps; below the lower ones is `color`, as in the gaps."""
    height = max(len(frame) for frame in frames)
    frames = tuple(_fill_below(frame, height, color) for frame in frames)
    gap = np.full((height, _GAP, 3), color, np.uint8)
    parts: list[Frame] = []
    for frame in frames:
        parts += [frame, gap]
    return np.concatenate(parts[:-1], axis=1)


def enlarged(frame: Frame, side: int) -> Frame:
    """An image scaled to `side` pixels in height and width."""
    return np.asarray(_pil().fromarray(frame).resize((side, side)))


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


def _text_strip(text: str, width: int, size: int) -> Frame:
    """Image of one line of text, with letters at least 12 pixels high."""
    pil = _pil()
    from PIL import ImageDraw, ImageFont

    size = max(12, size)
    strip = pil.new("RGB", (width, size + 8), (_WHITE,) * 3)
    font = ImageFont.load_default(size)
    ImageDraw.Draw(strip).text((4, 2), text, fill=(40, 40, 40), font=font)
    return np.asarray(strip)


def _fill_below(frame: Frame, height: int, color: tuple[int, int, int]) -> Frame:
    if len(frame) == height:
        return frame
    below = np.full((height - len(frame), *frame.shape[1:]), color, np.uint8)
    return np.concatenate((frame, below))


def _save_gif(frames: Sequence[Frame], path: Path, fps: int) -> None:
    """Write a gif with one palette for all frames, so that equal pixels stay equal."""
    pil = _pil()
    palette = _palette(frames[:: max(1, len(frames) // 8)])
    images = [
        pil.fromarray(frame).quantize(palette=palette, dither=pil.Dither.NONE) for frame in frames
    ]
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=round(1000 / fps), loop=0,
        optimize=False,
    )  # fmt: skip


def _palette(frames: Sequence[Frame]) -> Any:
    """An image whose palette suits all frames; colored pixels get a third of it, however few."""
    pixels = np.concatenate([frame[::2, ::2].reshape(-1, 3) for frame in frames])
    colored = pixels[np.ptp(pixels, axis=1) > _COLORED]
    if len(colored):
        pixels = np.concatenate((pixels, np.resize(colored, (len(pixels) // 2, 3))))
    return _pil().fromarray(pixels[None]).quantize(255)


def _pad_to_even(frame: Frame) -> Frame:
    """Pad to even height and width, which the video codec needs."""
    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _pil() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_package(WHAT, "PIL") from error
    return Image


def _imageio() -> Any:
    try:
        import imageio.v2 as imageio
    except ImportError as error:
        raise missing_package(WHAT, "imageio") from error
    return imageio
