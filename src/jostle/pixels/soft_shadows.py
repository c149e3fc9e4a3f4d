"""Soft shadows from two depth maps: one as seen from the camera, one as seen from the light.

The light's map holds blurred depths and squared depths (a variance shadow map), so one lookup per
pixel gives soft edges without the speckle of depth comparisons. The cost is bounded: it depends on
the size of the image alone, not on the scene.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.scene.cameras import orientation
from jostle.scene.spec import CameraSpec

Floats = NDArray[np.float32]
SIDE = 320
"""Height and width of the light's depth map in pixels."""
NEAR, FAR = 0.05, 3.5
"""Depths that the light's map covers, in meters."""
_DISTANCE = 1.4
"""Distance of the map's viewpoint from the center of the scene: the light itself is far away."""
_BLUR = 2
"""Half width of the box filters in pixels of the map."""
_BIAS = 0.004
"""Depth by which surfaces may seem to be behind themselves, in meters."""
_MIN_VARIANCE = 2e-5
_BLEEDING = 0.2
"""Visibilities below this value are full shadow: two occluders behind each other would glow."""
_ROWS = 48
"""Rows of the image that are computed together, so that they fit into the processor's cache."""


@dataclass(frozen=True)
class LightView:
    """An orthographic view along a directional light."""

    axes: NDArray[np.float64]
    """Rows: right, up and forward, in the world."""
    position: NDArray[np.float64]
    """Viewpoint."""
    radius: float
    """Half of the height and width of what it shows, in meters."""

    @classmethod
    def around(cls, corners: NDArray[np.float64], direction: NDArray[np.float64]) -> "LightView":
        """A view along `direction` that shows all corners (8, 3)."""
        forward = direction / np.linalg.norm(direction)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right = right / np.linalg.norm(right)
        axes = np.stack((right, np.cross(right, forward), forward))  # (3, 3)
        center = corners.mean(0)
        radius = np.abs((corners - center) @ axes[:2].T).max()
        return cls(axes, center - _DISTANCE * forward, float(radius))


class ShadowMap:
    """What one light reaches."""

    def __init__(self, view: LightView, depth: Floats) -> None:
        """Prepare the map from its depth image (SIDE, SIDE) in [0, 1], lowest row first."""
        self._view = view
        offset = NEAR + depth * (FAR - NEAR) - _DISTANCE  # near 0: float32 loses no digits
        moments = np.stack((offset, offset * offset))  # (2, SIDE, SIDE)
        moments = _box_blur(_box_blur(moments))
        # One complex number per pixel: one lookup instead of two.
        self._moments = (moments[0] + 1j * moments[1]).astype(np.complex64).ravel()

    def visibility(self, camera: CameraSpec, distance: Floats) -> Floats:
        """How much of the light reaches each pixel, (H, W) in [0, 1].

        Args:
            camera: Where the image was rendered from.
            distance: Depth of each pixel along the camera's axis in meters, lowest row first.
        """
        height, width = distance.shape
        slope = np.tan(np.radians(camera.fov) / 2)
        x = (2 * np.arange(width) + 1 - width) / height * slope
        y = (2 * np.arange(height) + 1 - height) / height * slope
        to_light = (self._view.axes @ orientation(camera)).astype(np.float32)  # (3, 3)
        start = (self._view.axes @ (camera.position - self._view.position)).astype(np.float32)
        x_part = to_light[:, :1] * x.astype(np.float32) - to_light[:, 2:]  # (3, W)
        y_part = to_light[:, 1:2] * y.astype(np.float32)  # (3, H)
        visible = np.empty_like(distance)
        for top in range(0, height, _ROWS):
            rows = slice(top, top + _ROWS)
            rays = x_part[:, None] + y_part[:, rows, None]  # (3, rows, W)
            visible[rows] = self._at(start[:, None, None] + distance[rows] * rays)
        return _soften(visible)

    def _at(self, points: Floats) -> Floats:
        """Visibility at points (3, ...) in the axes of the light's view."""
        scale = SIDE / (2 * self._view.radius)
        column, row = (points[:2] + self._view.radius) * scale - 0.5
        inside = (column >= 0) & (column < SIDE - 1) & (row >= 0) & (row < SIDE - 1)
        column, row = column.clip(0, SIDE - 1.01), row.clip(0, SIDE - 1.01)
        left, bottom = column.astype(np.int32), row.astype(np.int32)
        right_part, top_part = column - left, row - bottom
        index, moments = bottom * SIDE + left, self._moments
        lower = moments[index]
        lower += right_part * (moments[index + 1] - lower)
        upper = moments[index + SIDE]
        upper += right_part * (moments[index + SIDE + 1] - upper)
        lower += top_part * (upper - lower)
        # Chebyshev's inequality bounds the fraction of the blurred area that is not in between.
        mean, square = lower.real, lower.imag
        variance = np.maximum(square - mean * mean, np.float32(_MIN_VARIANCE))
        behind = np.maximum(points[2] - np.float32(_DISTANCE + _BIAS) - mean, 0)
        bound = variance / (variance + behind * behind)
        visible = ((bound - np.float32(_BLEEDING)) / np.float32(1 - _BLEEDING)).clip(0, 1)
        return np.where(inside, visible, np.float32(1))


def _soften(visible: Floats) -> Floats:
    """Average with the neighbors: pixels of antialiased edges belong to both of their sides."""
    for _ in range(2):
        middle = visible[1:-1] * np.float32(0.5)
        middle += (visible[:-2] + visible[2:]) * np.float32(0.25)
        visible = np.concatenate((visible[:1], middle, visible[-1:])).T
    return visible


def _box_blur(values: Floats) -> Floats:
    """Average over squares of 2 * _BLUR + 1 pixels of the last two axes."""
    width = 2 * _BLUR + 1
    for axis in (-1, -2):
        pad = [(0, 0)] * (values.ndim + axis) + [(_BLUR, _BLUR)] + [(0, 0)] * (-axis - 1)
        padded = np.pad(values, pad, mode="edge")
        parts = [
            np.take(padded, range(start, start + values.shape[axis]), axis)
            for start in range(width)
        ]
        values = sum(parts[1:], parts[0]) / np.float32(width)
    return values
