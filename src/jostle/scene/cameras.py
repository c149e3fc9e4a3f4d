"""Named cameras, and the projection between world and image coordinates."""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jostle.core.catalog import Catalog
from jostle.core.errors import require
from jostle.scene.spec import TABLE_TOP, CameraSpec

CAMERAS: Catalog[CameraSpec] = Catalog(
    "camera",
    {
        "front": CameraSpec(name="front", position=(0.8, 0.0, 1.80), target=(0.12, 0.0, TABLE_TOP)),
        "side": CameraSpec(name="side", position=(0.0, -0.8, 1.65), target=(0.0, -0.12, TABLE_TOP)),
        "top": CameraSpec(
            name="top", position=(0.001, 0.0, 2.25), target=(0.0, 0.0, TABLE_TOP), fov=35
        ),
        "corner": CameraSpec(
            name="corner", position=(0.85, -0.75, 1.75), target=(-0.04, 0.0, 1.06), fov=35
        ),
        "hero": CameraSpec(
            name="hero", position=(0.85, -1.20, 2.12), target=(-0.11, 0.03, 1.185), fov=34
        ),
        "table": CameraSpec(
            name="table", position=(0.71, -1.01, 2.03), target=(0.02, -0.06, TABLE_TOP), fov=28
        ),
    },
)
"""The paper's two views, a view from above, and views for videos and pictures: `hero` shows the
whole table and the arm, `table` the whole table."""


def resolve_cameras(cameras: Sequence[str | CameraSpec]) -> tuple[CameraSpec, ...]:
    """Look up cameras that are given by name; the names of all cameras must differ."""
    if isinstance(cameras, str | CameraSpec):
        cameras = (cameras,)
    resolved = tuple(CAMERAS[item] if isinstance(item, str) else item for item in cameras)
    names = [camera.name for camera in resolved]
    require(len(set(names)) == len(names), f"Two cameras share a name: {names}.")
    return resolved


@functools.lru_cache(maxsize=4096)
def orientation(camera: CameraSpec) -> NDArray[np.float64]:
    """Rotation whose columns are the camera's right, up and backward axes, in the world."""
    back = np.subtract(camera.position, camera.target)
    back = back / np.linalg.norm(back)
    right = np.cross((0.0, 0.0, 1.0), back)
    if np.linalg.norm(right) < 1e-6:  # camera points straight down: the robot is at the top
        right = np.array((0.0, 1.0, 0.0))
    right = right / np.linalg.norm(right)
    return np.stack((right, np.cross(back, right), back), axis=1)


def project(
    camera: CameraSpec, points: NDArray[np.float64], size: tuple[int, int]
) -> NDArray[np.float64]:
    """Project world points (..., 3) to pixel coordinates (..., 2) = (column, row).

    The origin is the upper left corner of the image and pixel centers lie at half-integers.
    """
    height, width = size
    local = (points - np.array(camera.position)) @ orientation(camera)  # (..., 3)
    focal = height / 2 / np.tan(np.radians(camera.fov) / 2)
    column = width / 2 - focal * local[..., 0] / local[..., 2]
    row = height / 2 + focal * local[..., 1] / local[..., 2]
    return np.stack((column, row), axis=-1)


def unproject_to_plane(
    camera: CameraSpec, pixels: NDArray[np.float64], height: float, size: tuple[int, int]
) -> NDArray[np.float64]:
    """Intersect the rays of pixels (..., 2) = (column, row) with a horizontal plane: x, y (..., 2).

    The inverse of `project` for points of that height. Rays near or above the horizon never meet
    the plane: their slope is limited to one tenth downward.
    """
    image_height, image_width = size
    focal = image_height / 2 / np.tan(np.radians(camera.fov) / 2)
    local = np.stack(
        ((pixels[..., 0] - image_width / 2) / focal, (image_height / 2 - pixels[..., 1]) / focal,
         np.full(pixels.shape[:-1], -1.0)),
        axis=-1,
    )  # fmt: skip
    rays = local @ orientation(camera).T  # (..., 3) in the world
    distance = (height - camera.position[2]) / np.minimum(rays[..., 2], -0.1)
    return np.array(camera.position[:2]) + distance[..., None] * rays[..., :2]
