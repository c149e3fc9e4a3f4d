"""What the environments are compared with: MuJoCo alone, called as directly as possible."""

import copy
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.backend import context, renderer_name
from jostle.scene.build import SUBSTEPS, compile_scene
from jostle.scene.spec import CameraSpec


@dataclass(frozen=True)
class Recording:
    """Steps of an environment that can be repeated."""

    start: dict[str, Any]
    """State of the environment before the first action."""
    actions: NDArray[np.float32]
    """Actions of the environment, (T, B, 3)."""
    controls: NDArray[np.float64]
    """Inputs of its servos, (T, B, nu)."""
    end: NDArray[np.float64]
    """Simulation states after the last action, (B, S)."""


def record(env: TabletopVectorEnv, steps: int) -> Recording:
    """Step an environment with random actions and record the inputs of its servos."""
    env.reset(seed=0)
    start = env.get_state()
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, env.num_envs, 3)).astype(np.float32)
    reader = Physics(env, threads=1)
    controls = []
    for action in actions:
        env.step(action)
        reader.restore(env.get_state()["states"])
        controls.append(reader.controls.copy())
    return Recording(start, actions, np.array(controls), env.get_state()["states"])


class Physics:
    """The environment's simulations without the environment."""

    def __init__(self, env: TabletopVectorEnv, threads: int) -> None:
        """Simulate as many copies of the environment's model."""
        model = compile_scene(env.episode_sampler.scene).model
        self._batch = Batch(model, env.num_envs, nthread=threads)
        self.controls = self._batch.bind("ctrl")
        self.qpos = self._batch.bind("qpos")

    @property
    def states(self) -> NDArray[np.float64]:
        """Simulation states, (B, S)."""
        states: NDArray[np.float64] = self._batch.state
        return states

    def restore(self, states: NDArray[np.float64]) -> None:
        """Set the simulations to saved states (B, S)."""
        self._batch.state[:] = states

    def step(self, controls: NDArray[np.float64]) -> None:
        """Simulate one action."""
        self.controls[:] = controls
        self._batch.step(nstep=SUBSTEPS)


class Renderer:
    """A plain rendering loop on a GL context of its own, for one thread."""

    def __init__(self, env: TabletopVectorEnv) -> None:
        """Open the context in the calling thread, with the quality settings of the environment."""
        # Model
        height, width = env.options.size
        scene, appearance = (
            compile_scene(env.episode_sampler.scene),
            env.episodes[0].appearance,
        )
        model = self._model = copy.copy(scene.model)
        model.geom_rgba[scene.geom_ids, :3] = np.array(appearance.colors)[:, None]
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        model.vis.global_.fovy = appearance.cameras[0].fov
        model.vis.map.znear, model.vis.map.zfar = 0.1, 12.0
        model.vis.quality.numslices, model.vis.quality.numstacks = 10, 5

        # Context
        self._context = context(width, height)
        self.name = renderer_name()
        self._scene = mujoco.MjvScene(model, maxgeom=model.ngeom + 8)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._scene.flags[flag] = False
        self._gpu = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._gpu)
        self._data, self._option = mujoco.MjData(model), mujoco.MjvOption()
        mujoco.mj_kinematics(model, self._data)
        mujoco.mj_camlight(model, self._data)  # the lights do not move
        self._frame = mujoco.MjrRect(0, 0, width, height)
        self._cameras = [_free_camera(camera) for camera in appearance.cameras]

    def render(self, qpos: NDArray[np.float64], out: NDArray[np.uint8]) -> None:
        """Render all views of simulations at joint positions (b, nq) into `out` (b, V, H, W, 3)."""
        model, data, scene, gpu = self._model, self._data, self._scene, self._gpu
        every = mujoco.mjtCatBit.mjCAT_ALL.value
        for positions, images in zip(qpos, out, strict=True):
            data.qpos[:] = positions
            mujoco.mj_kinematics(model, data)
            mujoco.mjv_updateScene(model, data, self._option, None, self._cameras[0], every, scene)
            for camera, image in zip(self._cameras, images, strict=True):
                mujoco.mjv_updateCamera(model, data, camera, scene)
                mujoco.mjr_render(self._frame, scene, gpu)
                mujoco.mjr_readPixels(image, None, self._frame, gpu)

    def close(self) -> None:
        """Free the context."""
        self._gpu.free()
        self._context.free()


class RendererPool:
    """One plain renderer per thread."""

    def __init__(self, env: TabletopVectorEnv, threads: int) -> None:
        """Open every context on the thread that uses it."""
        cameras = env.episode_sampler.appearance.cameras
        self.images = np.empty((env.num_envs, len(cameras), *env.options.size, 3), np.uint8)
        self._executors = [ThreadPoolExecutor(1) for _ in range(threads)]
        self._renderers = self._on_each_thread(lambda number: Renderer(env))
        self.renderer_name = self._renderers[0].name

    def render(self, qpos: NDArray[np.float64]) -> None:
        """Render all environments, distributed over the threads."""
        stride = len(self._executors)
        self._on_each_thread(
            lambda number: self._renderers[number].render(
                qpos[number::stride], self.images[number::stride]
            )
        )

    def close(self) -> None:
        """Free the contexts and end the threads."""
        self._on_each_thread(lambda number: self._renderers[number].close())
        for executor in self._executors:
            executor.shutdown()

    def _on_each_thread(self, function: Callable[[int], Any]) -> list[Any]:
        futures = [
            executor.submit(function, number) for number, executor in enumerate(self._executors)
        ]
        return [future.result() for future in futures]


def _free_camera(camera: CameraSpec) -> mujoco.MjvCamera:
    """MuJoCo's free camera at the pose of one of ours."""
    x, y, z = np.subtract(camera.target, camera.position)
    free = mujoco.MjvCamera()
    free.lookat[:] = camera.target
    free.distance = math.hypot(x, y, z)
    free.azimuth = math.degrees(math.atan2(y, x))
    free.elevation = math.degrees(math.asin(z / free.distance))
    return free
