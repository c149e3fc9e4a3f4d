"""What a pixel shows, as a number; and how many pixels an object would fill if nothing hid it."""

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.scene.build import World
from jostle.scene.cameras import orientation, project
from jostle.scene.spec import CameraSpec

NOTHING, ARM, FIRST_OBJECT = 0, 1, 2
"""Labels: ground, table and walls are nothing; the object in slot i is FIRST_OBJECT + i."""

_AT_ONCE = 256
"""Objects whose pixels are counted together; bounds the memory."""
_CORNERS = np.stack(np.meshgrid((-1, 1), (-1, 1), (-1, 1)), axis=-1).reshape(8, 3)


def label_table(scene: mujoco.MjvScene, world: World) -> NDArray[np.uint8]:
    """Map the red channel of MuJoCo's segmentation drawing (0, or 1 + segment) to labels."""
    model = world.model
    geoms = np.where(model.geom_bodyid > 0, ARM, NOTHING)
    geoms[world.parts] = FIRST_OBJECT + np.arange(len(world.parts))[:, None]
    sites = np.where(model.site_bodyid > 0, ARM, NOTHING)
    of_kind = {mujoco.mjtObj.mjOBJ_GEOM.value: geoms, mujoco.mjtObj.mjOBJ_SITE.value: sites}
    table = np.full(256, NOTHING, np.uint8)
    for drawn in scene.geoms[: scene.ngeom]:
        if drawn.objtype in of_kind and drawn.segid >= 0:
            table[drawn.segid + 1] = of_kind[drawn.objtype][drawn.objid]
    return table


def whole_pixels(
    worlds: Sequence[World],
    poses: NDArray[np.float64],
    camera: CameraSpec,
    size: tuple[int, int],
) -> NDArray[np.int32]:
    """Count the pixels whose center each object would fill if nothing stood before it.

    A ray through each pixel near the object is cut with the object's boxes: the answer is that of
    drawing the object alone, up to rounding at its outline.

    Args:
        worlds: Geometry of each scene.
        poses: Position and quaternion of the first slots, (B, N, 7).
        camera: Who looks, at all scenes alike.
        size: Height and width of the picture; pixels beyond it do not count.

    Returns:
        Pixels per object, (B, N).
    """
    boxes = _boxes(worlds, poses)  # (B*N, P, ...)
    counts = np.zeros(len(boxes[0]), np.int32)
    for first in range(0, len(counts), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        counts[part] = _count(camera, size, *(one[part] for one in boxes))
    return counts.reshape(poses.shape[:2])


def _boxes(
    worlds: Sequence[World], poses: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Centers, axes (as columns) and half sizes of every object's boxes, in the world."""
    slots = poses.shape[1]
    pairs = [(world.model, world.parts[:slots]) for world in worlds]
    halves = np.concatenate([model.geom_size[parts] for model, parts in pairs])  # (B*N, P, 3)
    places = np.concatenate([model.geom_pos[parts] for model, parts in pairs])
    local = _rotations(np.concatenate([model.geom_quat[parts] for model, parts in pairs]))
    flat = poses.reshape(-1, 1, 7)  # (B*N, 1, 7)
    turns = _rotations(flat[..., 3:])  # (B*N, 1, 3, 3)
    centers = flat[..., :3] + (turns @ places[..., None])[..., 0]  # (B*N, P, 3)
    return centers, turns @ local, halves


def _count(
    camera: CameraSpec,
    size: tuple[int, int],
    centers: NDArray[np.float64],
    axes: NDArray[np.float64],
    halves: NDArray[np.float64],
) -> NDArray[np.int32]:
    corners = (axes[:, :, None] @ (halves[:, :, None] * _CORNERS)[..., None])[..., 0]
    corners = (corners + centers[:, :, None]).reshape(len(centers), -1, 3)  # (n, P*8, 3)
    depth = (np.array(camera.position) - corners) @ orientation(camera)[:, 2]
    before = (depth > 1e-3).all(-1)
    counts = np.zeros(len(centers), np.int32)
    if before.any():
        rays, inside = _window(camera, corners[before], size)  # (n, h, w, 3), (n, h, w)
        hit = _hits(np.array(camera.position), rays, centers[before], axes[before], halves[before])
        counts[before] = (hit & inside).sum((-2, -1))
    return counts


def _rotations(quats: NDArray[np.float64]) -> NDArray[np.float64]:
    w, x, y, z = np.moveaxis(quats, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _window(
    camera: CameraSpec, corners: NDArray[np.float64], size: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Rays (n, h, w, 3) through the pixels around each object, and which lie in the picture."""
    height, width = size
    flat = project(camera, corners, size)  # (n, 8*P, 2)
    low = np.clip(np.floor(flat.min(1)), 0, (width, height)).astype(int)  # (n, 2)
    high = np.clip(np.ceil(flat.max(1)), 0, (width, height)).astype(int)
    across, down = np.maximum((high - low).max(0), 1)
    columns = low[:, :1] + np.arange(across)  # (n, w)
    rows = low[:, 1:] + np.arange(down)  # (n, h)
    inside = (rows < height)[:, :, None] & (columns < width)[:, None]
    focal = height / 2 / np.tan(np.radians(camera.fov) / 2)
    right = np.broadcast_to((columns[:, None] + 0.5 - width / 2) / focal, inside.shape)
    up = np.broadcast_to((height / 2 - 0.5 - rows[:, :, None]) / focal, inside.shape)
    local = np.stack((right, up, -np.ones(inside.shape)), axis=-1)  # (n, h, w, 3)
    return local @ orientation(camera).T, inside


def _hits(
    eye: NDArray[np.float64],
    rays: NDArray[np.float64],
    centers: NDArray[np.float64],
    axes: NDArray[np.float64],
    halves: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Which rays (n, h, w, 3) meet any of an object's boxes, (n, h, w)."""
    found = np.zeros(rays.shape[:3], bool)
    for part in range(centers.shape[1]):
        turn = axes[:, part]  # (n, 3, 3)
        start = ((eye - centers[:, part])[:, None] @ turn)[:, None]  # (n, 1, 1, 3)
        along = (rays.reshape(len(rays), -1, 3) @ turn).reshape(rays.shape)
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        half = halves[:, part, None, None]
        one, two = (-half - start) / along, (half - start) / along
        found |= np.minimum(one, two).max(-1) <= np.maximum(one, two).min(-1)
    return found
