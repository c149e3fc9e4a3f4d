"""Worlds to pictures. One painter per thread; a studio hands out the work."""

import copy
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import DrawingError, require
from jostle.pixels.backend import CURE, backend, context
from jostle.pixels.displays import most_painters
from jostle.pixels.labels import label_table
from jostle.scene.build import World
from jostle.scene.cameras import orientation
from jostle.scene.spec import CameraSpec, Look

_MODELS_KEPT = 64
_NEAR, _FAR = 0.1, 12.0
_SEGMENT = (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR)
_COARSE_BELOW = 160
"""Pictures up to this size show the arm's capsules with few facets, which draws faster."""


@dataclass(frozen=True)
class Shot:
    """One scene to draw from all cameras of its look."""

    world: World
    """Geometry."""
    qpos: NDArray[np.float64]
    """Joint positions."""
    look: Look
    """Colors, cameras, lights."""


class Painter:
    """Draws on one thread: the thread that made it."""

    def __init__(
        self, world: World, views: int, size: tuple[int, int], apart: bool = False
    ) -> None:
        """Open a GL context with room for `views` pictures of `size` (height, width).

        Software painters that draw at the same time must be `apart`, all but one.
        """
        self._height, self._width = size
        self._models: dict[int, tuple[World, mujoco.MjModel]] = {}
        self._lit: dict[int, tuple[float, float]] = {}
        self._labels: dict[int, NDArray[np.uint8]] = {}
        model = copy.copy(world.model)
        model.vis.global_.offwidth = views * self._width
        model.vis.global_.offheight = self._height
        fine = max(size) > _COARSE_BELOW
        model.vis.quality.numslices, model.vis.quality.numstacks = (28, 16) if fine else (10, 5)
        self._gl: Any = context(views * self._width, self._height, apart)
        self._scene = mujoco.MjvScene(model, maxgeom=model.ngeom + 8)
        self._gpu: Any = _upload(model)
        model.vis.quality.offsamples = 0
        self._plain, self._sharp_gpu = model, None
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._gpu)
        self._data = mujoco.MjData(model)
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._strip = np.empty((self._height, views * self._width, 3), np.uint8)

    def paint(self, shot: Shot, out: NDArray[np.uint8]) -> None:
        """Draw all views of a shot into `out` (V, H, W, 3)."""
        self._stage(shot)
        self._expose(shot, self._gpu)
        width = self._width
        for view in range(len(shot.look.cameras)):
            out[view] = self._strip[::-1, view * width : (view + 1) * width]

    def label(self, shot: Shot, out: NDArray[np.uint8]) -> None:
        """Write what each pixel's center shows into `out` (V, H, W), as in `pixels.labels`."""
        if self._sharp_gpu is None:
            self._sharp_gpu = _upload(self._plain)  # without antialiasing, which costs time here
        self._stage(shot)
        table = self._table(shot.world)
        for flag in _SEGMENT:
            self._scene.flags[flag] = True
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._sharp_gpu)
        self._expose(shot, self._sharp_gpu)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._gpu)
        for flag in _SEGMENT:
            self._scene.flags[flag] = False
        width = self._width
        for view in range(len(shot.look.cameras)):
            out[view] = table[self._strip[::-1, view * width : (view + 1) * width, 0]]

    def close(self) -> None:
        """Give the GL context back."""
        if self._gpu is not None:
            self._gl.make_current()
            self._gpu.free()
            if self._sharp_gpu is not None:
                self._sharp_gpu.free()
            self._gl.free()
            self._gpu = self._sharp_gpu = self._gl = None

    def _expose(self, shot: Shot, gpu: Any) -> None:
        """Draw the staged scene from all cameras into the strip, upside down."""
        height, width = self._height, self._width
        for view, camera in enumerate(shot.look.cameras):
            self._aim(camera)
            frame = mujoco.MjrRect(view * width, 0, width, height)
            mujoco.mjr_render(frame, self._scene, gpu)
        strip = mujoco.MjrRect(0, 0, self._strip.shape[1], height)
        mujoco.mjr_readPixels(self._strip, None, strip, gpu)

    def _stage(self, shot: Shot) -> None:
        """Put geometry, colors and lights of the shot on the scene, seen from nowhere yet."""
        model = self._model(shot.world)
        model.geom_rgba[shot.world.parts, :3] = np.array(shot.look.colors)[:, None]
        self._light(model, shot)
        self._data.qpos[:] = shot.qpos
        mujoco.mj_kinematics(model, self._data)
        mujoco.mj_camlight(model, self._data)
        mujoco.mjv_updateScene(
            model, self._data, self._option, None, self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value, self._scene,
        )  # fmt: skip
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shot.look.shadows
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False

    def _model(self, world: World) -> mujoco.MjModel:
        """Return this painter's own copy of a model, so that recoloring touches nobody else."""
        known = self._models.get(id(world.model))
        if known is None:
            if len(self._models) >= _MODELS_KEPT:
                oldest = next(iter(self._models))
                self._models.pop(oldest)
                self._lit.pop(oldest, None)
                self._labels.pop(oldest, None)
            known = self._models[id(world.model)] = (world, copy.copy(world.model))
        return known[1]

    def _table(self, world: World) -> NDArray[np.uint8]:
        known = self._labels.get(id(world.model))
        if known is None:
            known = self._labels[id(world.model)] = label_table(self._scene, world)
        return known

    def _light(self, model: mujoco.MjModel, shot: Shot) -> None:
        plain, look = shot.world.model, shot.look
        wanted = (look.brightness, look.light_angle)
        if self._lit.get(id(plain)) == wanted:
            return
        self._lit[id(plain)] = wanted
        model.light_diffuse[:] = plain.light_diffuse * look.brightness
        model.light_ambient[:] = plain.light_ambient * look.brightness
        angle = np.radians(look.light_angle)
        turn = np.array(
            ((np.cos(angle), -np.sin(angle), 0), (np.sin(angle), np.cos(angle), 0), (0, 0, 1))
        )
        model.light_dir[:] = plain.light_dir @ turn.T
        model.light_pos[:] = plain.light_pos @ turn.T

    def _aim(self, camera: CameraSpec) -> None:
        """Point the scene's two eyes (we are no stereo) through a camera."""
        axes = orientation(camera)
        top = _NEAR * np.tan(np.radians(camera.fov) / 2)
        for eye in self._scene.camera:
            eye.pos, eye.forward, eye.up = camera.position, -axes[:, 2], axes[:, 1]
            eye.frustum_near, eye.frustum_far = _NEAR, _FAR
            eye.frustum_top, eye.frustum_bottom = top, -top
            eye.frustum_center = eye.frustum_width = 0.0


_Draw = Callable[[Painter, Shot, NDArray[np.uint8]], None]


class Studio:
    """A pool of painters that draws many shots at once."""

    def __init__(self, world: World, views: int, size: tuple[int, int], threads: int = 0) -> None:
        """Prepare; GL contexts open when the first picture is asked for."""
        require(
            views >= 1 and all(8 <= side <= 2048 for side in size),
            f"Pictures are 8 to 2048 pixels a side and at least one, not {views} of {size}.",
        )
        self._world, self._views, self._size = world, views, size
        self._threads = threads or _cores()
        self._pools: list[ThreadPoolExecutor] = []
        self._painters: dict[int, Painter] = {}

    def draw(self, shots: Sequence[Shot]) -> NDArray[np.uint8]:
        """Draw all shots, (B, V, H, W, 3)."""
        out = np.empty((len(shots), self._views, *self._size, 3), np.uint8)
        self._work(Painter.paint, shots, out)
        return out

    def label(self, shots: Sequence[Shot]) -> NDArray[np.uint8]:
        """Tell what each pixel of each shot shows, (B, V, H, W), as in `pixels.labels`."""
        out = np.empty((len(shots), self._views, *self._size), np.uint8)
        self._work(Painter.label, shots, out)
        return out

    def close(self) -> None:
        """Close every context on the thread that owns it."""
        for number, pool in enumerate(self._pools):
            if number in self._painters:
                pool.submit(self._painters[number].close).result()
            pool.shutdown()
        self._pools, self._painters = [], {}

    def _work(self, what: _Draw, shots: Sequence[Shot], out: NDArray[np.uint8]) -> None:
        while len(self._pools) < min(self._threads, len(shots), most_painters(backend())):
            self._pools.append(ThreadPoolExecutor(1, thread_name_prefix="painter"))
        share = len(self._pools)
        work = [
            pool.submit(self._share, what, number, shots[number::share], out[number::share])
            for number, pool in enumerate(self._pools)
        ]
        for one in work:
            one.result()

    def _share(
        self, what: _Draw, number: int, shots: Sequence[Shot], out: NDArray[np.uint8]
    ) -> None:
        if number not in self._painters:
            self._painters[number] = Painter(self._world, self._views, self._size, number > 0)
        for shot, picture in zip(shots, out, strict=True):
            what(self._painters[number], shot, picture)


def _cores() -> int:
    """Count the cores that this process may use, which can be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _upload(model: mujoco.MjModel) -> Any:
    """Hand the model to the GL driver; a context that is none is reported in words."""
    try:
        return mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    except mujoco.FatalError as error:
        raise DrawingError(f"The GL backend '{backend()}' cannot draw: {error}. {CURE}") from error
