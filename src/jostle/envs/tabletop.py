"""The single environment: what `gymnasium.make` returns, a vectorized environment of one."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from jostle.core.errors import BadActionError
from jostle.envs.vector import Observation, TabletopVectorEnv
from jostle.tasks.episode import EpisodeSpec


class TabletopEnv(gym.Env[Observation, NDArray[np.float32]]):
    """A table, an arm, some objects and a goal; see `EnvOptions` for the options.

    A pickled environment is restored with its full state and continues bit-for-bit.
    """

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 3}  # noqa: RUF012

    def __init__(self, task: str = "NCubes", **options: Any) -> None:
        """Build one environment of a task."""
        options = {**options, "autoreset_mode": AutoresetMode.DISABLED}
        self.vector = TabletopVectorEnv(1, task, **options)
        self.render_mode = self.vector.render_mode
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self._horizon = self.vector.max_episode_steps

    @property
    def episode(self) -> EpisodeSpec:
        """The running episode, which `reset` starts again if it gets it as the option `episode`."""
        return self.vector.episodes[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode, or the stored one in `options["episode"]`."""
        super().reset(seed=seed)
        self.vector.max_episode_steps = self._truncation_limit()
        observation, infos = self.vector.reset(seed=seed, options=options)
        self._np_random = self.vector.rng(0)
        return _first(observation), _first_info(infos)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply one action (Δx, Δy, Δz) in [-1, 1]³."""
        if np.shape(action) != (3,):
            raise BadActionError(f"An action has the shape (3,), not {np.shape(action)}.")
        observation, rewards, _, truncated, infos = self.vector.step(np.asarray(action)[None])
        return _first(observation), float(rewards[0]), False, bool(truncated[0]), _first_info(infos)

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Reward of goals with any leading shape; `info` is not needed."""
        return self.vector.compute_reward(achieved_goal, desired_goal, info)

    def render(self) -> NDArray[np.uint8] | None:
        """Render the views side by side."""
        images = self.vector.render()
        return None if images is None else images[0]

    def get_state(self) -> dict[str, Any]:
        """Everything needed to resume bit-for-bit."""
        return self.vector.get_state()

    def set_state(self, state: dict[str, Any]) -> Observation:
        """Restore what `get_state` returned."""
        return _first(self.vector.set_state(state))

    def close(self) -> None:
        """Free the GL contexts."""
        self.vector.close()

    def _truncation_limit(self) -> int | None:
        """Steps until truncation; None if `gymnasium.make` added a `TimeLimit` of this length."""
        if self.spec is None or self.spec.id not in gym.registry:
            return self._horizon
        registered = gym.registry[self.spec.id].max_episode_steps
        return None if registered == self._horizon else self._horizon


def _first(observation: Observation) -> Observation:
    return {name: values[0] for name, values in observation.items()}


def _first_info(infos: dict[str, Any]) -> dict[str, Any]:
    return {name: values[0] for name, values in infos.items() if not name.startswith("_")}
