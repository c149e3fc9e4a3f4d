"""Foreground weighting: pixels count more the farther they are from the median frame.

Objects are a few pixels of an image. A mean over all pixels is hardly affected by them, and a
network would first spend its time on a table that never changes.
"""

import torch
from torch import Tensor

from jostle.core.errors import require


def median_frames(images: Tensor, views: int, cameras: int) -> Tensor:
    """Median (V, 3, H, W) of images (B*V, 3, H, W), per camera."""
    check_cameras(views, cameras)
    return images.view(-1, views, *images.shape[1:]).median(0).values


def expand_median(median: Tensor, images: Tensor, views: int) -> Tensor:
    """Repeat the median frames (V, 3, H, W) for each of the images (B*V, 3, H, W)."""
    check_cameras(views, len(median))
    return median.repeat(images.shape[0] // views, 1, 1, 1)


@torch.no_grad()
def pixel_weights(images: Tensor, median: Tensor, strength: float) -> Tensor:
    """Weights (N, 1, H, W) of pixels: 1 where images equal the median, up to 1 + strength."""
    return 1 + strength * (images - median).abs().amax(1, keepdim=True)


def check_cameras(views: int, cameras: int) -> None:
    """Refuse frames with another number of views than there are median frames."""
    require(
        views == cameras,
        f"This encoder has median frames of {cameras} cameras, but the frames have {views} "
        "views. Set num_cameras to the number of views, in the order of training.",
    )
