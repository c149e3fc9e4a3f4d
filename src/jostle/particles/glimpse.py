"""The spatial transformer: cut glimpses out of images, and paste them back.

All glimpses of an image are cut in one call, from the image itself and not from a copy for each.
Glimpses are parallel to the axes, so pasting is a product of two thin matrices, one per axis, and
it can sum over all glimpses inside the product. (Cutting by such products is the same mathematics
too, but seven to twelve times slower: most of an image is far from a glimpse.)

Coordinates are (y, x) in [-1, 1], ±1 being the centers of the border pixels.

N images, K glimpses of S × S pixels each, C channels, H × W pixels of the image.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

_TINY = 1e-9
"""Added to scales, so that a glimpse of no size is no division by zero."""


def hats(points: Tensor, size: int) -> Tensor:
    """Bilinear weights (..., size) by which pixels in a row take part at `points` (...)."""
    pixels = torch.arange(size, device=points.device, dtype=points.dtype)
    return (1 - (points[..., None] - pixels).abs()).clamp(min=0)


def crop(
    images: Tensor,
    place: Tensor,
    box: Tensor,
    side: int,
    border: Literal["zeros", "edge"] = "zeros",
) -> Tensor:
    """Cut glimpses (N, K, C, S, S) out of images (N, C, H, W).

    Args:
        images: The images.
        place: Centers, (N, K, 2).
        box: Relative sizes in (0, 1), (N, K, 2).
        side: Pixels S of a glimpse.
        border: What lies outside of an image: black, or its outermost pixels.
    """
    count, particles = place.shape[:2]
    steps = torch.linspace(-1, 1, side, device=place.device, dtype=place.dtype)
    points = place[..., None, :] + box[..., None, :] * steps[:, None]  # (N, K, S, 2)
    shape = (count, particles, side, side)
    down, across = points[..., 0, None].expand(shape), points[..., None, :, 1].expand(shape)
    grid = torch.stack((across, down), dim=-1).flatten(1, 2)  # (N, KS, S, 2)
    outside = "zeros" if border == "zeros" else "border"
    cut = F.grid_sample(images, grid, padding_mode=outside, align_corners=True)  # (N, C, KS, S)
    return cut.view(count, -1, particles, side, side).transpose(1, 2)


def paste_weights(place: Tensor, box: Tensor, side: int, size: int) -> Tensor:
    """How one axis is pasted: (N, K, size, side) for centers and relative sizes (N, K)."""
    pixels = torch.linspace(-1, 1, size, device=place.device, dtype=place.dtype)
    points = (pixels - place[..., None]) / (box[..., None] + _TINY)  # (N, K, size)
    return hats((points + 1) / 2 * (side - 1), side)


def paste(patches: Tensor, place: Tensor, box: Tensor, size: tuple[int, int]) -> Tensor:
    """Lay each glimpse (N, K, C, S, S) on an empty canvas of its own: (N, K, C, H, W)."""
    count, particles, channels, side, _ = patches.shape
    height, width = size
    wide = _widened(patches, place, box, width).flatten(0, 1)  # (NK, S, CW)
    down = paste_weights(place[..., 0], box[..., 0], side, height).flatten(0, 1)  # (NK, H, S)
    laid = torch.bmm(down, wide).view(count, particles, height, channels, width)
    return laid.transpose(2, 3)


def paste_sum(patches: Tensor, place: Tensor, box: Tensor, size: tuple[int, int]) -> Tensor:
    """Sum of all pasted glimpses, (N, C, H, W), without a canvas for any of them."""
    count, _, channels, side, _ = patches.shape
    height, width = size
    wide = _widened(patches, place, box, width).flatten(1, 2)  # (N, KS, CW)
    down = paste_weights(place[..., 0], box[..., 0], side, height)  # (N, K, H, S)
    down = down.transpose(1, 2).flatten(2)  # (N, H, KS)
    return torch.bmm(down, wide).view(count, height, channels, width).transpose(1, 2)


def _widened(patches: Tensor, place: Tensor, box: Tensor, width: int) -> Tensor:
    """Glimpses stretched along rows only: (N, K, S, CW)."""
    count, particles, channels, side, _ = patches.shape
    across = paste_weights(place[..., 1], box[..., 1], side, width).flatten(0, 1)  # (NK, W, S)
    rows = patches.transpose(2, 3).reshape(count * particles, side * channels, side)
    wide = torch.bmm(rows, across.transpose(1, 2))  # (NK, SC, W)
    return wide.view(count, particles, side, channels * width)


def boxes_mask(place: Tensor, weight: Tensor, box_px: int, size: tuple[int, int]) -> Tensor:
    """Sum of squares of `box_px` pixels at `place` (N, K, 2), times `weight` (N, K): (N, 1, H, W).

    A product of two indicator vectors per glimpse; nothing is sampled.
    """
    inside = []
    for axis, pixels in enumerate(size):
        rows = torch.arange(pixels, device=place.device, dtype=place.dtype)
        center = (place[..., axis, None] + 1) / 2 * (pixels - 1)  # (N, K, 1)
        inside.append(((rows - center).abs() <= box_px / 2).to(place.dtype))  # (N, K, pixels)
    down, across = inside
    return torch.bmm((down * weight[..., None]).transpose(1, 2), across)[:, None]
