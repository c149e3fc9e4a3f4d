"""Recordings of episodes for videos."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Policy
from jostle.envs.goal_image import goal_image_request
from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.render import RenderRequest
from jostle.pixels.render_pool import RenderPool
from jostle.rollout.rollout import Step, rollout
from jostle.scene.build import compile_scene


@dataclass(frozen=True)
class Recording:
    """One recorded episode."""

    views: dict[str, NDArray[np.uint8]]
    """Frames per camera, (T + 1, H, W, 3)."""
    goals: dict[str, NDArray[np.uint8]]
    """The goal image per camera, (H, W, 3)."""
    distances: NDArray[np.float32]
    """Distance of each object to its goal, (T + 1, N)."""
    success: bool
    """Whether all objects were at their goals in the end."""


class VideoRenderer:
    """Renders environments for viewers, in another size than the agent's observations."""

    def __init__(self, env: TabletopVectorEnv, size: int, shadows: bool = False) -> None:
        """Render from the cameras of `env`."""
        self._env, self._shadows = env, shadows
        self.names = [camera.name for camera in env.episode_sampler.appearance.cameras]
        scene = compile_scene(env.episode_sampler.scene)
        self._render_pool = RenderPool(scene, len(self.names), (size, size), env.options.threads)

    def render(self) -> NDArray[np.uint8]:
        """The present state of every environment, (B, V, H, W, 3)."""
        return self._render(self._env.render_requests())

    def render_goals(self) -> NDArray[np.uint8]:
        """The goal of every environment, (B, V, H, W, 3)."""
        return self._render([goal_image_request(episode) for episode in self._env.episodes])

    def close(self) -> None:
        """Close the render pool."""
        self._render_pool.close()

    def _render(self, requests: Sequence[RenderRequest]) -> NDArray[np.uint8]:
        with_shadows = [
            replace(request, appearance=replace(request.appearance, shadows=self._shadows))
            for request in requests
        ]
        return self._render_pool.render(with_shadows)


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
    return [
        Recording(
            views={name: video[index, :, view] for view, name in enumerate(renderer.names)},
            goals={name: goals[index, view] for view, name in enumerate(renderer.names)},
            distances=np.stack([step.infos["distances"][index] for step in history]),
            success=bool(history[-1].infos["is_success"][index]),
        )
        for index in range(env.num_envs)
    ]
