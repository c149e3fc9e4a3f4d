"""Conversion between an environment's frames and the images that networks read."""

import torch
from torch import Tensor
from torch.nn import functional as F

from jostle.core.errors import BadValueError


def to_images(frames: Tensor, size: int) -> Tensor:
    """Turn frames (B, V, H, W, 3) uint8 into images (B*V, 3, H, W) in [0, 1]."""
    check_frames(frames, size)
    return frames.flatten(0, 1).permute(0, 3, 1, 2).float().div_(255)


def to_frames(images: Tensor, views: int) -> Tensor:
    """Turn images (B*V, 3, H, W) in [0, 1] into frames (B, V, H, W, 3) uint8."""
    bytes_ = images.clamp(0, 1).mul(255).round().to(torch.uint8)
    return bytes_.permute(0, 2, 3, 1).reshape(-1, views, *images.shape[2:], 3)


def downscale(images: Tensor, factor: int) -> Tensor:
    """Downscale images (N, C, H, W) by an integer factor, by averaging."""
    return F.avg_pool2d(images, factor) if factor > 1 else images


def upscale(images: Tensor, side: int) -> Tensor:
    """Upscale images (N, C, h, w) to `side` × `side` pixels."""
    if images.shape[-1] == side:
        return images
    return F.interpolate(images, size=(side, side), mode="bilinear")


def check_frames(frames: Tensor, size: int) -> None:
    """Refuse anything but a batch of uint8 frames of this size."""
    shape = tuple(frames.shape)
    if frames.dtype != torch.uint8:
        raise BadValueError(
            f"Frames are uint8 in 0 to 255, but these are {frames.dtype}. Pass them as the "
            "environment gives them, without scaling."
        )
    if len(shape) != 5:
        hint = " Is the axis of views or of the batch missing?" if len(shape) in (3, 4) else ""
        raise BadValueError(f"Frames are (B, V, H, W, 3), but these are {shape}.{hint}")
    if shape[-1] != 3:
        hint = " Channels come last: permute them." if 3 in shape[1:3] else ""
        raise BadValueError(f"Frames are (B, V, H, W, 3), but these are {shape}.{hint}")
    if shape[2:4] != (size, size):
        raise BadValueError(
            f"This encoder expects frames of {size} × {size} pixels, but these have "
            f"{shape[2]} × {shape[3]}. Render them in that size, or train an encoder for this one."
        )
    if 0 in shape:
        raise BadValueError(f"There are no frames in {shape}.")
