"""Segmentation labels of pixels, and how many pixels an object would cover without occlusion."""

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.scene.build import CompiledScene
from jostle.scene.cameras import orientation, project
from jostle.scene.spec import CameraSpec

BACKGROUND, ARM, FIRST_OBJECT = 0, 1, 2
"""Labels: ground, table and walls are background; the object in slot i is FIRST_OBJECT + i."""

_CHUNK = 256
"""Objects whose pixels are counted together; limits the memory."""
_CORNERS = np.stack(np.meshgrid((-1, 1), (-1, 1), (-1, 1)), axis=-1).reshape(8, 3)


def label_table(rendered: mujoco.MjvScene, scene: CompiledScene) -> NDArray[np.uint8]:
    """Map the red channel of MuJoCo's segmentation image (0, or 1 + segment) to labels."""
    model = scene.model
    geoms = np.where(model.geom_bodyid > 0, ARM, BACKGROUND)
    geoms[scene.geom_ids] = FIRST_OBJECT + np.arange(len(scene.geom_ids))[:, None]
    sites = np.where(model.site_bodyid > 0, ARM, BACKGROUND)
    labels = {mujoco.mjtObj.mjOBJ_GEOM.value: geoms, mujoco.mjtObj.mjOBJ_SITE.value: sites}
    table = np.full(256, BACKGROUND, np.uint8)
    for geom in rendered.geoms[: rendered.ngeom]:
        if geom.objtype in labels and geom.segid >= 0:
            table[geom.segid + 1] = labels[geom.objtype][geom.objid]
    return table


def unoccluded_pixels(
    scenes: Sequence[CompiledScene],
    poses: NDArray[np.float64],
    camera: CameraSpec,
    size: tuple[int, int],
) -> NDArray[np.int32]:
    """Count the pixels whose center each object would cover if nothing occluded it.

    A ray through each pixel near the object is intersected with the object's boxes: the result is
    that of rendering the object alone, up to rounding at its outline.

    Args:
        scenes: The compiled scenes.
        poses: Position and quaternion of the first slots, (B, N, 7).
        camera: The camera, the same for all scenes.
        size: Height and width of the image; pixels outside do not count.

    Returns:
        Pixels per object, (B, N).
    """
    boxes = _boxes(scenes, poses)  # (B*N, P, ...)
    counts = np.zeros(len(boxes[0]), np.int32)
    for first in range(0, len(counts), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        counts[chunk] = _count_pixels(camera, size, *(values[chunk] for values in boxes))
    return counts.reshape(poses.shape[:2])


def _boxes(
    scenes: Sequence[CompiledScene], poses: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Centers, axes (as columns) and half sizes of every object's boxes, in the world."""
    slots = poses.shape[1]
    pairs = [(scene.model, scene.geom_ids[:slots]) for scene in scenes]
    halves = np.concatenate([model.geom_size[ids] for model, ids in pairs])  # (B*N, P, 3)
    offsets = np.concatenate([model.geom_pos[ids] for model, ids in pairs])
    local_axes = _rotations(np.concatenate([model.geom_quat[ids] for model, ids in pairs]))
    flat = poses.reshape(-1, 1, 7)  # (B*N, 1, 7)
    rotations = _rotations(flat[..., 3:])  # (B*N, 1, 3, 3)
    centers = flat[..., :3] + (rotations @ offsets[..., None])[..., 0]  # (B*N, P, 3)
    return centers, rotations @ local_axes, halves


def _count_pixels(
    camera: CameraSpec,
    size: tuple[int, int],
    centers: NDArray[np.float64],
    axes: NDArray[np.float64],
    halves: NDArray[np.float64],
) -> NDArray[np.int32]:
    corners = (axes[:, :, None] @ (halves[:, :, None] * _CORNERS)[..., None])[..., 0]
    corners = (corners + centers[:, :, None]).reshape(len(centers), -1, 3)  # (n, P*8, 3)
    depth = (np.array(camera.position) - corners) @ orientation(camera)[:, 2]
    in_front = (depth > 1e-3).all(-1)
    counts = np.zeros(len(centers), np.int32)
    if in_front.any():
        rays, inside = _window(camera, corners[in_front], size)  # (n, h, w, 3), (n, h, w)
        boxes = (centers[in_front], axes[in_front], halves[in_front])
        hit = _hits(np.array(camera.position), rays, *boxes)
        counts[in_front] = (hit & inside).sum((-2, -1))
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
    """Rays (n, h, w, 3) through the pixels around each object, and which are in the image."""
    height, width = size
    flat = project(camera, corners, size)  # (n, 8*P, 2)
    low = np.clip(np.floor(flat.min(1)), 0, (width, height)).astype(int)  # (n, 2)
    high = np.clip(np.ceil(flat.max(1)), 0, (width, height)).astype(int)
    window_width, window_height = np.maximum((high - low).max(0), 1)
    columns = low[:, :1] + np.arange(window_width)  # (n, w)
    rows = low[:, 1:] + np.arange(window_height)  # (n, h)
    inside = (rows < height)[:, :, None] & (columns < width)[:, None]
    focal = height / 2 / np.tan(np.radians(camera.fov) / 2)
    right = np.broadcast_to((columns[:, None] + 0.5 - width / 2) / focal, inside.shape)
    up = np.broadcast_to((height / 2 - 0.5 - rows[:, :, None]) / focal, inside.shape)
    local = np.stack((right, up, -np.ones(inside.shape)), axis=-1)  # (n, h, w, 3)
    return local @ orientation(camera).T, inside


def _hits(
    origin: NDArray[np.float64],
    rays: NDArray[np.float64],
    centers: NDArray[np.float64],
    axes: NDArray[np.float64],
    halves: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Which rays (n, h, w, 3) intersect any of an object's boxes, (n, h, w)."""
    hit = np.zeros(rays.shape[:3], bool)
    for part in range(centers.shape[1]):
        rotation = axes[:, part]  # (n, 3, 3)
        start = ((origin - centers[:, part])[:, None] @ rotation)[:, None]  # (n, 1, 1, 3)
        direction = (rays.reshape(len(rays), -1, 3) @ rotation).reshape(rays.shape)
        direction = np.where(np.abs(direction) < 1e-12, 1e-12, direction)
        half = halves[:, part, None, None]
        low, high = (-half - start) / direction, (half - start) / direction
        hit |= np.minimum(low, high).max(-1) <= np.maximum(low, high).min(-1)
    return hit
