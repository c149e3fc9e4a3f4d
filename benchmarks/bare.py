"""What the environments are measured against: MuJoCo alone, called as plainly as can be."""

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
from jostle.scene.build import SUBSTEPS, build
from jostle.scene.spec import CameraSpec


@dataclass(frozen=True)
class Tape:
    """A stretch of an environment's life that can be run again."""

    start: dict[str, Any]
    """The environment's state before the first action."""
    actions: NDArray[np.float32]
    """What the environment is told, (T, B, 3)."""
    controls: NDArray[np.float64]
    """What its servos are told, (T, B, nu)."""
    end: NDArray[np.float64]
    """Where the simulations are after the last action, (B, S)."""


def record(env: TabletopVectorEnv, steps: int) -> Tape:
    """Let an environment act at random and write down what its servos are told."""
    env.reset(seed=0)
    start = env.get_state()
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, env.num_envs, 3)).astype(np.float32)
    reader = Physics(env, threads=1)
    controls = []
    for action in actions:
        env.step(action)
        reader.restart(env.get_state()["rows"])
        controls.append(reader.controls.copy())
    return Tape(start, actions, np.array(controls), env.get_state()["rows"])


class Physics:
    """The environment's simulations without the environment."""

    def __init__(self, env: TabletopVectorEnv, threads: int) -> None:
        """Run as many copies of the environment's model."""
        self._batch = Batch(build(env.recipe.scene).model, env.num_envs, nthread=threads)
        self.controls = self._batch.bind("ctrl")
        self.places = self._batch.bind("qpos")

    @property
    def rows(self) -> NDArray[np.float64]:
        """Where the simulations are, (B, S)."""
        found: NDArray[np.float64] = self._batch.state
        return found

    def restart(self, rows: NDArray[np.float64]) -> None:
        """Go back to where a tape starts."""
        self._batch.state[:] = rows

    def step(self, controls: NDArray[np.float64]) -> None:
        """Carry out one action."""
        self.controls[:] = controls
        self._batch.step(nstep=SUBSTEPS)


class Painter:
    """One thread's plain drawing loop on a GL context of its own."""

    def __init__(self, env: TabletopVectorEnv) -> None:
        """Open the context in the calling thread, at the quality the environment draws with."""
        height, width = env.options.size
        world, look = build(env.recipe.scene), env.episodes[0].look
        model = self._model = copy.copy(world.model)
        model.geom_rgba[world.parts, :3] = np.array(look.colors)[:, None]
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        model.vis.global_.fovy = look.cameras[0].fov
        model.vis.map.znear, model.vis.map.zfar = 0.1, 12.0
        model.vis.quality.numslices, model.vis.quality.numstacks = 10, 5
        self._context = context(width, height)
        self.renderer = renderer_name()
        self._scene = mujoco.MjvScene(model, maxgeom=model.ngeom + 8)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._scene.flags[flag] = False
        self._gpu = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._gpu)
        self._data, self._option = mujoco.MjData(model), mujoco.MjvOption()
        mujoco.mj_kinematics(model, self._data)
        mujoco.mj_camlight(model, self._data)  # the lights stay where they are
        self._frame = mujoco.MjrRect(0, 0, width, height)
        self._cameras = [_free_camera(one) for one in look.cameras]

    def paint(self, places: NDArray[np.float64], out: NDArray[np.uint8]) -> None:
        """Draw all views of simulations at joint positions (b, nq) into `out` (b, V, H, W, 3)."""
        model, data, scene, gpu = self._model, self._data, self._scene, self._gpu
        every = mujoco.mjtCatBit.mjCAT_ALL.value
        for place, pictures in zip(places, out, strict=True):
            data.qpos[:] = place
            mujoco.mj_kinematics(model, data)
            mujoco.mjv_updateScene(model, data, self._option, None, self._cameras[0], every, scene)
            for camera, picture in zip(self._cameras, pictures, strict=True):
                mujoco.mjv_updateCamera(model, data, camera, scene)
                mujoco.mjr_render(self._frame, scene, gpu)
                mujoco.mjr_readPixels(picture, None, self._frame, gpu)

    def close(self) -> None:
        """Give the context back."""
        self._gpu.free()
        self._context.free()


class Painters:
    """A plain painter per thread."""

    def __init__(self, env: TabletopVectorEnv, threads: int) -> None:
        """Open every context on the thread that will use it."""
        shape = (env.num_envs, len(env.recipe.look.cameras), *env.options.size, 3)
        self.pictures = np.empty(shape, np.uint8)
        self._pools = [ThreadPoolExecutor(1) for _ in range(threads)]
        self._painters = self._each(lambda number: Painter(env))
        self.renderer = self._painters[0].renderer

    def paint(self, places: NDArray[np.float64]) -> None:
        """Draw all copies, each thread its share."""
        share = len(self._pools)
        self._each(
            lambda number: self._painters[number].paint(
                places[number::share], self.pictures[number::share]
            )
        )

    def close(self) -> None:
        """Give the contexts back and end the threads."""
        self._each(lambda number: self._painters[number].close())
        for pool in self._pools:
            pool.shutdown()

    def _each(self, job: Callable[[int], Any]) -> list[Any]:
        work = [pool.submit(job, number) for number, pool in enumerate(self._pools)]
        return [one.result() for one in work]


def _free_camera(camera: CameraSpec) -> mujoco.MjvCamera:
    """Stand MuJoCo's free camera where one of ours stands."""
    x, y, z = np.subtract(camera.target, camera.position)
    found = mujoco.MjvCamera()
    found.lookat[:] = camera.target
    found.distance = math.hypot(x, y, z)
    found.azimuth = math.degrees(math.atan2(y, x))
    found.elevation = math.degrees(math.asin(z / found.distance))
    return found
