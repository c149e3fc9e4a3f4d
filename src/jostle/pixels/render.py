"""Rendering of scenes to images and segmentation labels, on one thread."""

import copy
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import RenderError
from jostle.pixels.backend import INSTALL_HINT, backend, context
from jostle.pixels.labels import label_table
from jostle.scene.build import CompiledScene
from jostle.scene.cameras import orientation
from jostle.scene.spec import Appearance, CameraSpec

_MAX_CACHED_MODELS = 64
NEAR, FAR = 0.1, 12.0
"""Distances between which surfaces are rendered, in meters."""
_SEGMENTATION_FLAGS = (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR)
_COARSE_BELOW = 160
"""Images up to this size show the arm's capsules with few facets, which renders faster."""


@dataclass(frozen=True)
class RenderRequest:
    """One scene to render from all its cameras."""

    scene: CompiledScene
    """Geometry."""
    qpos: NDArray[np.float64]
    """Joint positions."""
    appearance: Appearance
    """Colors, cameras, lights."""


class Renderer:
    """Owns a GL context; may be used only on the thread that created it."""

    _MIN_BUFFER = 0
    """Smallest height and width of the frame buffer."""

    def __init__(
        self, scene: CompiledScene, views: int, size: tuple[int, int], own_display: bool = False
    ) -> None:
        """Open a GL context for `views` images of `size` (height, width).

        Of several software renderers that work at the same time, all but one need `own_display`.
        """
        self._height, self._width = size
        self._models: dict[int, tuple[CompiledScene, mujoco.MjModel]] = {}
        self._lights: dict[int, tuple[float, float]] = {}
        self._label_tables: dict[int, NDArray[np.uint8]] = {}
        model = self._copy_model(scene)
        width = model.vis.global_.offwidth = max(views * self._width, self._MIN_BUFFER)
        height = model.vis.global_.offheight = max(self._height, self._MIN_BUFFER)
        fine = max(size) > _COARSE_BELOW
        model.vis.quality.numslices, model.vis.quality.numstacks = (28, 16) if fine else (10, 5)
        self._gl: Any = context(width, height, own_display)
        self._scene = mujoco.MjvScene(model, maxgeom=self._max_geoms(model))
        self._gpu: Any = _upload(model)
        model.vis.quality.offsamples = 0
        self._label_model, self._label_gpu = model, None
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._gpu)
        self._data = mujoco.MjData(model)
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._strip = np.empty((self._height, views * self._width, 3), np.uint8)

    def render(self, request: RenderRequest, out: NDArray[np.uint8]) -> None:
        """Render all views of a request into `out` (V, H, W, 3)."""
        self._update_scene(request)
        self._render_views(request, self._gpu)
        width = self._width
        for view in range(len(request.appearance.cameras)):
            out[view] = self._strip[::-1, view * width : (view + 1) * width]

    def render_labels(self, request: RenderRequest, out: NDArray[np.uint8]) -> None:
        """Write what each pixel's center shows into `out` (V, H, W), as in `pixels.labels`."""
        if self._label_gpu is None:
            self._label_gpu = _upload(self._label_model)  # without the cost of antialiasing
        self._update_scene(request)
        table = self._label_table(request.scene)
        for flag in _SEGMENTATION_FLAGS:
            self._scene.flags[flag] = True
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._label_gpu)
        self._render_views(request, self._label_gpu)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._gpu)
        for flag in _SEGMENTATION_FLAGS:
            self._scene.flags[flag] = False
        width = self._width
        for view in range(len(request.appearance.cameras)):
            out[view] = table[self._strip[::-1, view * width : (view + 1) * width, 0]]

    def close(self) -> None:
        """Free the GL context; a second call does nothing."""
        if self._gpu is not None:
            self._gl.make_current()
            self._gpu.free()
            if self._label_gpu is not None:
                self._label_gpu.free()
            self._gl.free()
            self._gpu = self._label_gpu = self._gl = None

    def _render_views(
        self, request: RenderRequest, gpu: Any, depth: NDArray[np.float32] | None = None
    ) -> None:
        """Render the current scene from all cameras into the strip, upside down; also depths."""
        height, width = self._height, self._width
        for view, camera in enumerate(request.appearance.cameras):
            self._set_camera(camera)
            frame = mujoco.MjrRect(view * width, 0, width, height)
            mujoco.mjr_render(frame, self._scene, gpu)
        strip = mujoco.MjrRect(0, 0, self._strip.shape[1], height)
        mujoco.mjr_readPixels(self._strip, depth, strip, gpu)

    def _update_scene(self, request: RenderRequest) -> None:
        """Set geometry, colors and lights of the scene; cameras are set later."""
        model = self._model(request.scene)
        model.geom_rgba[request.scene.geom_ids, :3] = np.array(request.appearance.colors)[:, None]
        self._set_lights(model, request)
        self._data.qpos[:] = request.qpos
        mujoco.mj_kinematics(model, self._data)
        mujoco.mj_camlight(model, self._data)
        mujoco.mjv_updateScene(
            model, self._data, self._option, None, self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value, self._scene,
        )  # fmt: skip
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = request.appearance.shadows
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False

    def _model(self, scene: CompiledScene) -> mujoco.MjModel:
        """Return this renderer's own copy of a model, whose colors may be changed."""
        cached = self._models.get(id(scene.model))
        if cached is None:
            if len(self._models) >= _MAX_CACHED_MODELS:
                oldest = next(iter(self._models))
                self._models.pop(oldest)
                self._lights.pop(oldest, None)
                self._label_tables.pop(oldest, None)
            cached = self._models[id(scene.model)] = (scene, self._copy_model(scene))
        return cached[1]

    def _copy_model(self, scene: CompiledScene) -> mujoco.MjModel:
        return copy.copy(scene.model)

    def _max_geoms(self, model: mujoco.MjModel) -> int:
        """Geoms that a scene may have."""
        return int(model.ngeom) + 8

    def _label_table(self, scene: CompiledScene) -> NDArray[np.uint8]:
        cached = self._label_tables.get(id(scene.model))
        if cached is None:
            cached = self._label_tables[id(scene.model)] = label_table(self._scene, scene)
        return cached

    def _set_lights(self, model: mujoco.MjModel, request: RenderRequest) -> None:
        original, appearance = request.scene.model, request.appearance
        lights = (appearance.brightness, appearance.light_angle)
        if self._lights.get(id(original)) == lights:
            return
        self._lights[id(original)] = lights
        model.light_diffuse[:] = original.light_diffuse * appearance.brightness
        model.light_ambient[:] = original.light_ambient * appearance.brightness
        angle = np.radians(appearance.light_angle)
        rotation = np.array(
            ((np.cos(angle), -np.sin(angle), 0), (np.sin(angle), np.cos(angle), 0), (0, 0, 1))
        )
        model.light_dir[:] = original.light_dir @ rotation.T
        model.light_pos[:] = original.light_pos @ rotation.T

    def _set_camera(self, camera: CameraSpec) -> None:
        """Set both GL cameras of the scene (MuJoCo has one per eye) to a camera."""
        axes = orientation(camera)
        top = NEAR * np.tan(np.radians(camera.fov) / 2)
        for gl_camera in self._scene.camera:
            gl_camera.pos, gl_camera.forward = camera.position, -axes[:, 2]
            gl_camera.up = axes[:, 1]
            gl_camera.frustum_near, gl_camera.frustum_far = NEAR, FAR
            gl_camera.frustum_top, gl_camera.frustum_bottom = top, -top
            gl_camera.frustum_center = gl_camera.frustum_width = 0.0


def _upload(model: mujoco.MjModel) -> Any:
    """Upload the model to the GL driver; a driver that cannot render is reported."""
    try:
        return mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    except mujoco.FatalError as error:
        raise RenderError(
            f"The GL backend '{backend()}' cannot render: {error}. {INSTALL_HINT}"
        ) from error
