"""The vectorized environment as a `VecEnv` of Stable-Baselines3."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.extras import missing_package
from jostle.envs.vector import Infos, Observation, TabletopVectorEnv

try:
    from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices
except ImportError as error:
    raise missing_package("The adapter for Stable-Baselines3", "stable_baselines3") from error

_PER_ENV_METHODS = ("render", "num_fallen", "render_requests", "render_as_goal")
"""Methods of the vector whose results have one entry per environment."""
_ANY_SUBSET = (*_PER_ENV_METHODS, "compute_reward")
"""Methods that change nothing, so that they may be called for some of the environments only."""


class JostleVecEnv(VecEnv):
    """A `TabletopVectorEnv` with the interface of `stable_baselines3.common.vec_env.VecEnv`.

    Environments whose episode has ended are reset within the same step: the observation is the
    first one of the new episode, `infos[i]["terminal_observation"]` the last one of the old, and
    `infos[i]["TimeLimit.truncated"]` says that the episode was cut off, so that critics bootstrap.
    """

    actions: NDArray[np.float32]

    def __init__(self, env: TabletopVectorEnv) -> None:
        """Take over an environment; its own autoreset is switched off."""
        require(
            isinstance(env, TabletopVectorEnv),
            f"The adapter takes what gymnasium.make_vec('jostle/...') returns, not a "
            f"{type(env).__name__}. Put VecMonitor and the like around the adapter instead.",
        )
        self.env = env
        env.metadata = {**env.metadata, "autoreset_mode": AutoresetMode.DISABLED}
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    # Episodes

    def reset(self) -> Observation:
        """Start new episodes in all environments, with the seeds of `seed()` if there are any."""
        observation, infos = self.env.reset(seed=self._seeds, options=self._reset_options_of_all())
        self.reset_infos = [_info(infos, env_id) for env_id in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: NDArray[np.float32]) -> None:
        """Keep the actions for `step_wait`."""
        self.actions = actions

    def step_wait(
        self,
    ) -> tuple[Observation, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Step all environments, then reset those whose episode has ended."""
        observation, rewards, terminated, truncated, infos = self.env.step(self.actions)
        done = terminated | truncated
        per_env = [_info(infos, env_id) for env_id in range(self.num_envs)]
        for env_id, info in enumerate(per_env):
            info["TimeLimit.truncated"] = bool(truncated[env_id] and not terminated[env_id])

        # Automatic reset within the step
        if done.any():
            last = observation
            observation, infos = self.env.reset(options={"reset_mask": done})
            for env_id in np.flatnonzero(done).tolist():
                per_env[env_id]["terminal_observation"] = {
                    name: values[env_id] for name, values in last.items()
                }
                self.reset_infos[env_id] = _info(infos, env_id)
        return observation, rewards.astype(np.float32), done, per_env

    def close(self) -> None:
        """Free the GL contexts."""
        self.env.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Render every environment."""
        images = self.env.render()
        return [None] * self.num_envs if images is None else list(images)

    # Attributes and methods of single environments

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of each environment, by its name in the environment of one."""
        env = self.env
        if attr_name in ("observation_space", "action_space"):
            attr_name = f"single_{attr_name}"
        if attr_name in ("elapsed", "done"):
            return [getattr(env, attr_name)[env_id] for env_id in self._get_indices(indices)]
        if attr_name == "episode":
            return [env.episodes[env_id] for env_id in self._get_indices(indices)]
        if attr_name == "np_random":
            return [env.rng(env_id) for env_id in self._get_indices(indices)]
        return [getattr(env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute that all environments share."""
        self._require_all(f"The attribute {attr_name}", indices)
        setattr(self.env, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method once for all environments; returns the result of each."""
        require(
            method_name not in ("reset", "step", "close"),
            f"{method_name} acts on all environments: call it on the vector itself.",
        )
        if method_name not in _ANY_SUBSET:
            self._require_all(f"The method {method_name}", indices)
        result = getattr(self.env, method_name)(*method_args, **method_kwargs)
        env_ids = list(self._get_indices(indices))
        if method_name not in _PER_ENV_METHODS or result is None:
            return [result] * len(env_ids)
        if isinstance(result, dict):
            return [{key: values[i] for key, values in result.items()} for i in env_ids]
        return [result[env_id] for env_id in env_ids]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """No environment is wrapped: they exist only together."""
        del wrapper_class
        return [False for _ in self._get_indices(indices)]

    def _require_all(self, what: str, indices: VecEnvIndices) -> None:
        chosen = set(self._get_indices(indices))
        require(
            chosen == set(range(self.num_envs)),
            f"{what} is shared by all {self.num_envs} environments and cannot be used for "
            f"{sorted(chosen)} only: leave out `indices`.",
        )

    def _reset_options_of_all(self) -> dict[str, Any] | None:
        """Options of the vector from those of each environment, given by `set_options`."""
        names = {name for options in self._options for name in options}
        if not names:
            return None
        require(
            names == {"episode"} and all(len(options) == 1 for options in self._options),
            "The only reset option of the adapter is 'episode', for every environment or for none.",
        )
        return {"episode": [options["episode"] for options in self._options]}


def as_sb3_vec_env(env: TabletopVectorEnv) -> JostleVecEnv:
    """Return what `gymnasium.make_vec` made as a `VecEnv` of Stable-Baselines3."""
    return JostleVecEnv(env)


def _info(infos: Infos, env_id: int) -> dict[str, Any]:
    """Infos of one environment."""
    return {
        name: values[env_id].copy() for name, values in infos.items() if not name.startswith("_")
    }
