"""Episodes as frames: what happens beside what was asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.driver import Step, play


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


def shoot(
    env: TabletopVectorEnv,
    policy: Policy,
    steps: int,
    seed: int,
    progress: Callable[[], None] | None = None,
) -> list[Footage]:
    """Film one episode of `steps` actions in every copy of an environment that draws."""
    seen: list[Step] = []

    def keep(step: Step) -> None:
        seen.append(step)
        if progress is not None:
            progress()

    play(env, policy, steps, seed=seed, watch=keep)
    cameras = [camera.name for camera in env.recipe.look.cameras]
    return [_cut(seen, cameras, copy) for copy in range(env.num_envs)]


def _cut(seen: Sequence[Step], cameras: Sequence[str], copy: int) -> Footage:
    last = seen[-1]
    return Footage(
        views={name: np.stack([step.observation[name][copy] for step in seen]) for name in cameras},
        goals={name: last.observation[f"goal_{name}"][copy] for name in cameras},
        distances=np.stack([step.infos["distances"][copy] for step in seen]),
        success=bool(last.infos["is_success"][copy]),
    )
