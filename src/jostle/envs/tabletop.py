"""One copy of a task: the vector environment with a single row, unwrapped."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from jostle.core.errors import BadActionError
from jostle.envs.vector import Observation, TabletopVectorEnv
from jostle.tasks.episode import EpisodeSpec


class TabletopEnv(gym.Env[Observation, NDArray[np.float32]]):
    """A table, an arm, some objects and a goal; see `EnvOptions` for the options."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 3}  # noqa: RUF012

    def __init__(self, task: str = "NCubes", **options: Any) -> None:
        """Build one copy of a task."""
        options = {**options, "autoreset_mode": AutoresetMode.DISABLED}
        self.vector = TabletopVectorEnv(1, task, **options)
        self.render_mode = self.vector.render_mode
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self._horizon = self.vector.limit

    @property
    def episode(self) -> EpisodeSpec:
        """The running episode; store it and start it again with `reset(options=...)`."""
        return self.vector.episodes[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode, or the stored one in `options["episode"]`."""
        super().reset(seed=seed)
        self.vector.limit = self._own_limit()
        observation, infos = self.vector.reset(seed=seed, options=options)
        self._np_random = self.vector.rng(0)
        return _first(observation), _first_info(infos)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out one action (Δx, Δy, Δz) in [-1, 1]³."""
        if np.shape(action) != (3,):
            raise BadActionError(f"An action has the shape (3,), not {np.shape(action)}.")
        observation, rewards, _, truncated, infos = self.vector.step(np.asarray(action)[None])
        return _first(observation), float(rewards[0]), False, bool(truncated[0]), _first_info(infos)

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Reward of any arrangement, over any leading shape; `info` is not needed."""
        return self.vector.compute_reward(achieved_goal, desired_goal, info)

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the views side by side."""
        frames = self.vector.render()
        return None if frames is None else frames[0]

    def get_state(self) -> dict[str, Any]:
        """Everything needed to go on bit by bit."""
        return self.vector.get_state()

    def set_state(self, state: dict[str, Any]) -> Observation:
        """Go back to what `get_state` returned."""
        return _first(self.vector.set_state(state))

    def close(self) -> None:
        """Close the painters."""
        self.vector.close()

    def _own_limit(self) -> int | None:
        """Truncate here, unless `gymnasium.make` wrapped us in a time limit that does."""
        if self.spec is None or self.spec.id not in gym.registry:
            return self._horizon
        registered = gym.registry[self.spec.id].max_episode_steps
        return None if registered == self._horizon else self._horizon


def _first(observation: Observation) -> Observation:
    return {name: values[0] for name, values in observation.items()}


def _first_info(infos: dict[str, Any]) -> dict[str, Any]:
    return {name: values[0] for name, values in infos.items() if not name.startswith("_")}
