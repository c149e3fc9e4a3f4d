"""One environment whose running episode can be edited, and watched within an action."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.envs.goal_image import goal_image_request
from jostle.envs.vector import Infos, Observation, TabletopVectorEnv
from jostle.scene.build import SUBSTEPS
from jostle.scene.controller import ACTION_SECONDS
from jostle.scene.physics import Physics, table_poses
from jostle.tasks.episode import EpisodeSpec

_DRAG_SPEED = 0.5
"""Fastest speed of a dragged object, in meters per second."""
_SUBSTEP_SECONDS = ACTION_SECONDS / SUBSTEPS


class LivePhysics(Physics):
    """Physics that can be watched within an action, while objects are dragged by hand."""

    frames = 1
    """Parts in which an action is simulated; a divisor of the number of substeps."""
    on_frame: Callable[[], None] | None = None
    """Called after each part."""
    drag: tuple[int, NDArray[np.float64]] | None = None
    """An object that is dragged, and where on the table to, (2,)."""

    def _simulate(self, env_ids: NDArray[np.int32], substeps: int) -> dict[int, str]:
        for _ in range(self.frames):
            # A dragged object gets a new velocity in every substep: friction would stop it
            runs = 1 if self.drag is None else substeps // self.frames
            for _ in range(runs):
                self._pull()
                failures = super()._simulate(env_ids, substeps // self.frames // runs)
                if failures:
                    return failures
            if self.on_frame is not None:
                self.on_frame()
        return {}

    def _pull(self) -> None:
        """Move the dragged object towards the pointer, upright, so that it pushes others."""
        if self.drag is None:
            return
        slot, target = self.drag
        velocity = (target - self.objects[0, slot, :2]) / (8 * _SUBSTEP_SECONDS)
        speed = float(np.linalg.norm(velocity))
        self.velocities[0, slot, :2] = velocity * min(1.0, _DRAG_SPEED / max(speed, 1e-9))
        self.velocities[0, slot, 3:] = 0.0


class LiveEnv(TabletopVectorEnv):
    """A vector of one environment that never ends by itself."""

    def __init__(self, task: str, **options: Any) -> None:
        """Build the environment; see `EnvOptions` for the options."""
        super().__init__(1, task, autoreset_mode="Disabled", **options)
        self.max_episode_steps = None
        self._physics = LivePhysics(self.episode_sampler.scene, 1, self.options.threads)

    @property
    def physics(self) -> LivePhysics:
        """The simulation."""
        assert isinstance(self._physics, LivePhysics)
        return self._physics

    @property
    def episode(self) -> EpisodeSpec:
        """The running episode."""
        return self.episodes[0]

    def edit(self, episode: EpisodeSpec) -> None:
        """Change goal and appearance of the running episode; its scene stays."""
        self.episodes[0] = episode
        self._desired[0] = self.state_reader.desired(episode.goal, self._present[0])
        if self._goal_images.shape[1]:
            request = goal_image_request(episode)
            self._goal_images[:] = self._renderer.render([request], self.options.size)

    def place(self, slot: int, x: float, y: float, yaw: float) -> None:
        """Put an object somewhere on the table, at rest."""
        planar = np.full((len(self.episode.scene.objects), 3), np.nan)
        planar[slot] = x, y, yaw
        self.physics.place(0, slot, table_poses(self.episode.scene, planar)[slot])

    def look(self) -> tuple[Observation, Infos]:
        """Observation and infos of the present state."""
        observation = self._observe()
        return observation, self._infos(observation, np.ones(1, bool))
