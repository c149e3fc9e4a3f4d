"""Rendering of environments for people, and recordings of episodes for videos."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Policy
from jostle.envs.goal_image import goal_image_request
from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.presentation import PresentationRenderer, PresentationRequest
from jostle.pixels.render import RenderRequest
from jostle.pixels.render_pool import RenderPool
from jostle.rollout.rollout import Step, rollout
from jostle.scene.build import compile_scene
from jostle.scene.cameras import resolve_cameras
from jostle.scene.colors import RGB
from jostle.scene.physics import table_poses
from jostle.scene.spec import STANDARD_TABLE, CameraSpec, TableSpec
from jostle.tasks.episode import EpisodeSpec

HERO = "hero"
"""Name of the camera that shows the whole table and the arm."""
_FITTED = (HERO, "table")
"""Cameras that move back from tables that are larger than the standard one."""


@dataclass(frozen=True)
class Recording:
    """One recorded episode of N objects."""

    views: dict[str, NDArray[np.uint8]]
    """Frames per camera, (T + 1, H, W, 3)."""
    goals: dict[str, NDArray[np.uint8]]
    """The goal image per camera, (H, W, 3)."""
    distances: NDArray[np.float32]
    """Distance of each object to its goal, (T + 1, N)."""
    reached: NDArray[np.bool_]
    """Whether each object is at its goal, (T + 1, N)."""
    colors: tuple[RGB, ...]
    """Color of each object."""

    @property
    def success(self) -> bool:
        """Whether all objects were at their goals in the end."""
        return bool(self.reached[-1].all())


class VideoRenderer:
    """Renders environments for people: another look than the agent's observations, any size.

    It only reads from the environments. Call `render` whenever a picture is needed, from the thread
    that steps them, and `close` at the end:

        renderer = VideoRenderer(env, 480)
        env.reset(seed=0)
        hero = renderer.render()[0, 0]  # (480, 480, 3)
    """

    def __init__(
        self,
        env: TabletopVectorEnv,
        size: int | tuple[int, int],
        cameras: Sequence[str | CameraSpec] = (HERO,),
        ghosts: bool = True,
    ) -> None:
        """Render images of `size` (side, or height and width) pixels.

        Args:
            env: The environments.
            size: Side of the images in pixels, or their height and width.
            cameras: Names from `scene.cameras.CAMERAS`, or cameras; those that the environment also
                has are where its episode puts them.
            ghosts: Whether translucent objects show the goals on the table.
        """
        self._env, self._ghosts = env, ghosts
        self._cameras = resolve_cameras(cameras)
        self.names = [camera.name for camera in self._cameras]
        """Names of the cameras, in the order of the views."""
        sides = size if isinstance(size, tuple) else (size, size)
        self._render_pool = RenderPool(
            compile_scene(env.episode_sampler.scene),
            len(self.names),
            sides,
            env.options.threads,
            PresentationRenderer,
        )

    def render(self) -> NDArray[np.uint8]:
        """The present state of every environment, (B, V, H, W, 3)."""
        ghosts = [_ghosts(episode) if self._ghosts else None for episode in self._env.episodes]
        return self._render(self._env.render_requests(), ghosts)

    def render_goals(self) -> NDArray[np.uint8]:
        """The goal of every environment, (B, V, H, W, 3)."""
        requests = [goal_image_request(episode) for episode in self._env.episodes]
        return self._render(requests, [None] * len(requests))

    def close(self) -> None:
        """Close the render pool; the next image opens a new one."""
        self._render_pool.close()

    def _render(
        self,
        requests: Sequence[RenderRequest],
        ghosts: Sequence[NDArray[np.float64] | None],
    ) -> NDArray[np.uint8]:
        return self._render_pool.render(
            [
                PresentationRequest(
                    request.scene,
                    request.qpos,
                    replace(request.appearance, cameras=self._placed_cameras(request)),
                    poses,
                )
                for request, poses in zip(requests, ghosts, strict=True)
            ]
        )

    def _placed_cameras(self, request: RenderRequest) -> tuple[CameraSpec, ...]:
        """The cameras, where variations of the episode and the size of the table put them."""
        own = {camera.name: camera for camera in request.appearance.cameras}
        table = request.scene.spec.table
        return tuple(own.get(camera.name, _fit(camera, table)) for camera in self._cameras)


def _fit(camera: CameraSpec, table: TableSpec) -> CameraSpec:
    """Move some cameras back until a large table fits into their images."""
    factor = table.half_diagonal / STANDARD_TABLE.half_diagonal
    if camera.name not in _FITTED or factor <= 1:
        return camera
    target = np.array(camera.target)
    x, y, z = target + factor * (np.array(camera.position) - target)
    return replace(camera, position=(float(x), float(y), float(z)))


def _ghosts(episode: EpisodeSpec) -> NDArray[np.float64]:
    """Poses (slots, 7) of the goals that the goal image shows; NaN for objects without a goal."""
    poses = table_poses(episode.scene, episode.goal_view)
    poses[np.isnan(episode.goal_view[:, 0]) | np.isnan(episode.goal[:, 0])] = np.nan
    return poses


def record(
    env: TabletopVectorEnv,
    policy: Policy,
    steps: int,
    seed: int,
    renderer: VideoRenderer,
    on_step: Callable[[Step], None] | None = None,
) -> list[Recording]:
    """Record one episode of `steps` actions in every environment."""
    history: list[Step] = []
    frames: list[NDArray[np.uint8]] = []

    def record_step(step: Step) -> None:
        history.append(step)
        frames.append(renderer.render())
        if on_step is not None:
            on_step(step)

    rollout(env, policy, steps, seed=seed, on_step=record_step)
    video, goals = np.stack(frames, axis=1), renderer.render_goals()  # (B, T + 1, V, H, W, 3)
    distances = np.stack([step.infos["distances"] for step in history], axis=1)  # (B, T + 1, N)
    reached = distances < env.goal_metric.radius
    return [
        Recording(
            views={name: video[index, :, view] for view, name in enumerate(renderer.names)},
            goals={name: goals[index, view] for view, name in enumerate(renderer.names)},
            distances=distances[index],
            reached=reached[index],
            colors=env.episodes[index].appearance.colors[: distances.shape[-1]],
        )
        for index in range(env.num_envs)
    ]
