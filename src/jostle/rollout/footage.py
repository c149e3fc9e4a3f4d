"""Episodes as frames: what happens beside what was asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Policy
from jostle.envs.goal_photo import goal_shot
from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.render import Shot, Studio
from jostle.rollout.driver import Step, play
from jostle.scene.build import build


@dataclass(frozen=True)
class Footage:
    """One filmed episode."""

    views: dict[str, NDArray[np.uint8]]
    """Frames per camera, (T + 1, H, W, 3)."""
    goals: dict[str, NDArray[np.uint8]]
    """The goal picture per camera, (H, W, 3)."""
    distances: NDArray[np.float32]
    """Distance of each object to its goal, (T + 1, N)."""
    success: bool
    """Whether everything ended in its place."""


class FilmCamera:
    """Draws an environment for viewers, in a size of their own; agents are shown other frames."""

    def __init__(self, env: TabletopVectorEnv, size: int, shadows: bool = False) -> None:
        """Film through the cameras of `env`."""
        self._env, self._shadows = env, shadows
        self.names = [camera.name for camera in env.recipe.look.cameras]
        world = build(env.recipe.scene)
        self._studio = Studio(world, len(self.names), (size, size), env.options.threads)

    def now(self) -> NDArray[np.uint8]:
        """This moment of every copy, (B, V, H, W, 3)."""
        return self._draw(self._env.shots())

    def goals(self) -> NDArray[np.uint8]:
        """The goal of every copy, (B, V, H, W, 3)."""
        return self._draw([goal_shot(episode) for episode in self._env.episodes])

    def close(self) -> None:
        """Close the painters."""
        self._studio.close()

    def _draw(self, shots: Sequence[Shot]) -> NDArray[np.uint8]:
        lit = [replace(shot, look=replace(shot.look, shadows=self._shadows)) for shot in shots]
        return self._studio.draw(lit)


def shoot(
    env: TabletopVectorEnv,
    policy: Policy,
    steps: int,
    seed: int,
    camera: FilmCamera,
    watch: Callable[[Step], None] | None = None,
) -> list[Footage]:
    """Film one episode of `steps` actions in every copy of an environment."""
    seen: list[Step] = []
    frames: list[NDArray[np.uint8]] = []

    def keep(step: Step) -> None:
        seen.append(step)
        frames.append(camera.now())
        if watch is not None:
            watch(step)

    play(env, policy, steps, seed=seed, watch=keep)
    film, goals = np.stack(frames, axis=1), camera.goals()  # (B, T + 1, V, H, W, 3)
    return [
        Footage(
            views={name: film[copy, :, view] for view, name in enumerate(camera.names)},
            goals={name: goals[copy, view] for view, name in enumerate(camera.names)},
            distances=np.stack([step.infos["distances"][copy] for step in seen]),
            success=bool(seen[-1].infos["is_success"][copy]),
        )
        for copy in range(env.num_envs)
    ]
