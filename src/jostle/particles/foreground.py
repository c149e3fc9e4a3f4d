"""What moves counts more than what stands still: pixels weighed by how far they are from a median.

Objects are a few pixels of an image. A mean over all pixels hardly feels them, and a network first
spends its time on a table that never changes.
"""

import torch
from torch import Tensor

from jostle.core.errors import require


def median_frames(images: Tensor, views: int, cameras: int) -> Tensor:
    """Median (V, 3, H, W) of images (B*V, 3, H, W), camera by camera."""
    check_cameras(views, cameras)
    return images.view(-1, views, *images.shape[1:]).median(0).values


def beside(median: Tensor, images: Tensor, views: int) -> Tensor:
    """The median (V, 3, H, W) of each of the images (B*V, 3, H, W)."""
    check_cameras(views, len(median))
    return median.repeat(len(images) // views, 1, 1, 1)


@torch.no_grad()
def pixel_weights(images: Tensor, median: Tensor, strength: float) -> Tensor:
    """Weights (N, 1, H, W): 1 where images (N, 3, H, W) are as the median, up to 1 + strength."""
    return 1 + strength * (images - median).abs().amax(1, keepdim=True)


def check_cameras(views: int, cameras: int) -> None:
    """Refuse frames of other cameras than the medians are of."""
    require(
        views == cameras,
        f"This model knows the median frames of {cameras} cameras, but the frames have {views} "
        "views. Set cameras to the number of views, in the order of training.",
    )
