"""The spatial transformer: crop glimpses out of images, and paste them back.

All glimpses of an image are cropped in one call, from the image itself and not from a copy for
each. Glimpses are parallel to the axes, so pasting is a product of two thin matrices, one per axis,
and it can sum over all glimpses inside the product. (Cropping could be written as such products
too, but that is seven to twelve times slower: most of an image is far from a glimpse.)

Coordinates are (y, x) in [-1, 1], ±1 being the centers of the border pixels.

N images, K glimpses of S × S pixels each, C channels, H × W pixels of the image.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

_EPS = 1e-9
"""Added to sizes, so that a glimpse of size 0 does not divide by zero."""


def linear_weights(points: Tensor, size: int) -> Tensor:
    """Weights (..., size) of a row of pixels in a linear interpolation at `points` (...)."""
    pixels = torch.arange(size, device=points.device, dtype=points.dtype)
    return (1 - (points[..., None] - pixels).abs()).clamp(min=0)


def crop(
    images: Tensor,
    position: Tensor,
    box: Tensor,
    side: int,
    border: Literal["zeros", "edge"] = "zeros",
) -> Tensor:
    """Crop glimpses (N, K, C, S, S) out of images (N, C, H, W).

    Args:
        images: The images.
        position: Centers, (N, K, 2).
        box: Relative sizes in (0, 1), (N, K, 2).
        side: Pixels S of a glimpse.
        border: What lies outside of an image: black ('zeros'), or its outermost pixels.
    """
    count, particles = position.shape[:2]
    steps = torch.linspace(-1, 1, side, device=position.device, dtype=position.dtype)
    points = position[..., None, :] + box[..., None, :] * steps[:, None]  # (N, K, S, 2)
    shape = (count, particles, side, side)
    y, x = points[..., 0, None].expand(shape), points[..., None, :, 1].expand(shape)
    grid = torch.stack((x, y), dim=-1).flatten(1, 2)  # (N, KS, S, 2)
    padding = "zeros" if border == "zeros" else "border"
    sampled = F.grid_sample(images, grid, padding_mode=padding, align_corners=True)  # (N, C, KS, S)
    return sampled.view(count, -1, particles, side, side).transpose(1, 2)


def paste_weights(position: Tensor, box: Tensor, side: int, size: int) -> Tensor:
    """Matrices (N, K, size, side) that paste one axis, for centers and relative sizes (N, K)."""
    pixels = torch.linspace(-1, 1, size, device=position.device, dtype=position.dtype)
    points = (pixels - position[..., None]) / (box[..., None] + _EPS)  # (N, K, size)
    return linear_weights((points + 1) / 2 * (side - 1), side)


def paste(patches: Tensor, position: Tensor, box: Tensor, size: tuple[int, int]) -> Tensor:
    """Paste each glimpse (N, K, C, S, S) onto an empty canvas of its own: (N, K, C, H, W)."""
    count, particles, channels, side, _ = patches.shape
    height, width = size
    wide = _paste_columns(patches, position, box, width).flatten(0, 1)  # (NK, S, CW)
    rows = paste_weights(position[..., 0], box[..., 0], side, height).flatten(0, 1)  # (NK, H, S)
    canvases = torch.bmm(rows, wide).view(count, particles, height, channels, width)
    return canvases.transpose(2, 3)


def paste_sum(patches: Tensor, position: Tensor, box: Tensor, size: tuple[int, int]) -> Tensor:
    """Sum of all pasted glimpses, (N, C, H, W), without a canvas for each of them."""
    count, _, channels, side, _ = patches.shape
    height, width = size
    wide = _paste_columns(patches, position, box, width).flatten(1, 2)  # (N, KS, CW)
    rows = paste_weights(position[..., 0], box[..., 0], side, height)  # (N, K, H, S)
    rows = rows.transpose(1, 2).flatten(2)  # (N, H, KS)
    return torch.bmm(rows, wide).view(count, height, channels, width).transpose(1, 2)


def _paste_columns(patches: Tensor, position: Tensor, box: Tensor, width: int) -> Tensor:
    """Glimpses pasted along the horizontal axis only: (N, K, S, CW)."""
    count, particles, channels, side, _ = patches.shape
    columns = paste_weights(position[..., 1], box[..., 1], side, width).flatten(0, 1)  # (NK, W, S)
    lines = patches.transpose(2, 3).reshape(count * particles, side * channels, side)
    wide = torch.bmm(lines, columns.transpose(1, 2))  # (NK, SC, W)
    return wide.view(count, particles, side, channels * width)


def boxes_mask(position: Tensor, weight: Tensor, box_px: int, size: tuple[int, int]) -> Tensor:
    """Sum (N, 1, H, W) of squares of `box_px` pixels at `position` (N, K, 2), by `weight` (N, K).

    A product of two indicator vectors per square; nothing is sampled.
    """
    inside = []
    for axis, pixels in enumerate(size):
        line = torch.arange(pixels, device=position.device, dtype=position.dtype)
        center = (position[..., axis, None] + 1) / 2 * (pixels - 1)  # (N, K, 1)
        inside.append(((line - center).abs() <= box_px / 2).to(position.dtype))  # (N, K, pixels)
    rows, columns = inside
    return torch.bmm((rows * weight[..., None]).transpose(1, 2), columns)[:, None]
