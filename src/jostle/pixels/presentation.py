"""Rendering for people: videos, pictures of the documentation, the browser.

It has colors, lights and soft shadows of its own, and can show goals as translucent objects.
Observations are rendered by `pixels.render`, which knows nothing of this file.
"""

import copy
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.pixels import soft_shadows
from jostle.pixels.render import FAR, NEAR, Renderer, RenderRequest
from jostle.pixels.soft_shadows import LightView, ShadowMap
from jostle.scene.build import CompiledScene
from jostle.scene.robot import STAND_Z, THICKNESS, robot_base
from jostle.scene.spec import TABLE_TOP, TableSpec

_COLORS = {
    "table": (0.66, 0.645, 0.615), "stand": (0.30, 0.33, 0.37), "ground": (0.42, 0.47, 0.53),
    "wall": (0.80, 0.79, 0.76),
}  # fmt: skip
"""Colors of the furniture, by the start of its name."""
_LEG = (0.22, 0.24, 0.27, 1.0)
_LEG_HALF, _LEG_INSET = 0.02, 0.035
"""Half the thickness of the table's legs, and the distance of their axes from its edges."""
_KEY_DIRECTION = np.array((-0.33, -0.32, -1.2))
_KEY, _FILL, _AMBIENT = 0.52, 0.10, 0.075
"""Strength of the light that casts shadows, of the three others, and of each one's ambient part."""
_SHADOW = 0.42
"""How much darker a surface is in full shadow."""
_GHOST_SCALE, _GHOST_ALPHA = 0.97, 0.4
"""Ghosts are a little smaller than objects, so that an object at its goal hides its ghost."""
_PAD_MARGIN, _PAD_HEIGHT, _PAD_ALPHA = 0.004, 0.001, 0.5
"""Each part of a ghost stands on a thin pad that remains visible around an object at its goal."""
_IDENTITY = np.eye(3).ravel()


@dataclass(frozen=True)
class PresentationRequest(RenderRequest):
    """A scene to render for people."""

    ghosts: NDArray[np.float64] | None = None
    """Poses (N, 7) at which translucent copies of the objects show the goal; NaN shows none."""


class PresentationRenderer(Renderer):
    """A `Renderer` with another look; it takes any request and renders ghosts if it has some."""

    _MIN_BUFFER = soft_shadows.SIDE

    def render(self, request: RenderRequest, out: NDArray[np.uint8]) -> None:
        """Render all views of a request into `out` (V, H, W, 3)."""
        self._option.sitegroup[:] = 0
        self._update_scene(request)
        shadow_map = self._shadow_map(request)
        self._add_legs(request.scene.spec.table)
        self._add_ghosts(request)
        distance = np.empty(self._strip.shape[:2], np.float32)
        self._render_views(request, self._gpu, distance)
        distance = np.float32(NEAR) / (1 - distance * np.float32(1 - NEAR / FAR))
        width = self._width
        for view, camera in enumerate(request.appearance.cameras):
            columns = slice(view * width, (view + 1) * width)
            visible = shadow_map.visibility(camera, distance[:, columns])  # (H, W)
            light = np.float32(1 - _SHADOW) + np.float32(_SHADOW) * visible
            np.multiply(
                self._strip[:, columns], light[..., None], out=out[view, ::-1], casting="unsafe"
            )

    def _copy_model(self, scene: CompiledScene) -> mujoco.MjModel:
        model = copy.copy(scene.model)
        for name, color in _COLORS.items():
            for geom_id in range(model.ngeom):
                if model.geom(geom_id).name.startswith(name):
                    model.geom_rgba[geom_id, :3] = color
                    model.geom_matid[geom_id] = -1  # no texture
        model.geom_size[model.geom("ground").id] = FAR
        model.light_castshadow[:] = False
        return model

    def _max_geoms(self, model: mujoco.MjModel) -> int:
        return 3 * int(model.ngeom) + 8  # a ghost and a pad for every part, and legs

    def _set_lights(self, model: mujoco.MjModel, request: RenderRequest) -> None:
        super()._set_lights(model, request)
        brightness = request.appearance.brightness
        model.light_dir[0] = _key_direction(request)
        model.light_diffuse[:] = _FILL * brightness
        model.light_diffuse[0] = _KEY * brightness
        model.light_ambient[:] = _AMBIENT * brightness

    def _shadow_map(self, request: RenderRequest) -> ShadowMap:
        """Render the scene from the light."""
        view = LightView.around(_corners(request.scene.spec.table), _key_direction(request))
        for gl_camera in self._scene.camera:
            gl_camera.pos, gl_camera.forward = view.position, view.axes[2]
            gl_camera.up, gl_camera.orthographic = view.axes[1], 1
            gl_camera.frustum_near, gl_camera.frustum_far = soft_shadows.NEAR, soft_shadows.FAR
            gl_camera.frustum_top, gl_camera.frustum_bottom = view.radius, -view.radius
            gl_camera.frustum_center = gl_camera.frustum_width = 0.0
        side = soft_shadows.SIDE
        depth, square = np.empty((side, side), np.float32), mujoco.MjrRect(0, 0, side, side)
        mujoco.mjr_render(square, self._scene, self._gpu)
        mujoco.mjr_readPixels(None, depth, square, self._gpu)
        for gl_camera in self._scene.camera:
            gl_camera.orthographic = 0
        return ShadowMap(view, depth)

    def _add_legs(self, table: TableSpec) -> None:
        """Add legs below the table and the stand, which have none in the simulation."""
        top = TABLE_TOP - THICKNESS
        for x in (-1, 1):
            for y in (-1, 1):
                center = (x * (table.x / 2 - _LEG_INSET), y * (table.y / 2 - _LEG_INSET), top / 2)
                self._add_box(center, (_LEG_HALF, _LEG_HALF, top / 2), _IDENTITY, _LEG)
        stand_top = STAND_Z - THICKNESS / 2
        center = (robot_base(table)[0] - 0.05, 0.0, stand_top / 2)
        self._add_box(center, (0.06, 0.06, stand_top / 2), _IDENTITY, _LEG)

    def _add_ghosts(self, request: RenderRequest) -> None:
        """Add translucent copies of the objects at their goals."""
        poses = request.ghosts if isinstance(request, PresentationRequest) else None
        if poses is None:
            return
        model, rotation = request.scene.model, np.empty(9)
        for slot, pose in enumerate(poses):
            if np.isnan(pose[0]):
                continue
            mujoco.mju_quat2Mat(rotation, pose[3:])
            axes, color = rotation.reshape(3, 3), request.appearance.colors[slot]
            for geom_id in request.scene.geom_ids[slot]:
                half_size = model.geom_size[geom_id]
                if half_size[0] <= 0.001:  # a part that this shape does not have
                    continue
                center = pose[:3] + axes @ model.geom_pos[geom_id]
                part = np.empty(9)
                mujoco.mju_quat2Mat(part, model.geom_quat[geom_id])
                turned = (axes @ part.reshape(3, 3)).ravel()
                self._add_box(center, _GHOST_SCALE * half_size, turned, (*color, _GHOST_ALPHA))
                pad = (*(half_size[:2] + _PAD_MARGIN), _PAD_HEIGHT / 2)
                below = (*center[:2], TABLE_TOP + _PAD_HEIGHT / 2)
                self._add_box(below, pad, turned, (*color, _PAD_ALPHA))

    def _add_box(self, center: Any, half_size: Any, axes: NDArray[np.float64], color: Any) -> None:
        """Add a box to the scene that is not part of the simulation."""
        scene = self._scene
        mujoco.mjv_initGeom(
            scene.geoms[scene.ngeom], mujoco.mjtGeom.mjGEOM_BOX, np.array(half_size, float),
            np.array(center, float), axes, np.array(color, np.float32),
        )  # fmt: skip
        scene.ngeom += 1


def _key_direction(request: RenderRequest) -> NDArray[np.float64]:
    """Direction of the light that casts shadows."""
    angle = np.radians(request.appearance.light_angle)
    x, y, z = _KEY_DIRECTION
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array((cosine * x - sine * y, sine * x + cosine * y, z))


def _corners(table: TableSpec) -> NDArray[np.float64]:
    """Corners (8, 3) of a box around everything that casts shadows on the table."""
    left = robot_base(table)[0] - 0.16
    ranges = ((left, table.x / 2), (-table.y / 2, table.y / 2), (STAND_Z, TABLE_TOP + 0.65))
    return np.stack(np.meshgrid(*ranges), axis=-1).reshape(8, 3)
