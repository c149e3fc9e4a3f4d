"""Playing episodes with a policy: the only loop that steps environments outside of training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.protocols import Policy
from jostle.envs.vector import Observation, TabletopVectorEnv
from jostle.tasks.episode import EpisodeSpec


@dataclass(frozen=True)
class Step:
    """One step of all environments."""

    observation: Observation
    rewards: NDArray[np.float32]
    infos: dict[str, Any]


def rollout(
    env: TabletopVectorEnv,
    policy: Policy,
    steps: int,
    episodes: Sequence[EpisodeSpec] | None = None,
    seed: int | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Step:
    """Play one episode of `steps` actions in every environment; returns the last step.

    Args:
        env: Environments with autoreset disabled: with it, episodes would restart half-way.
        policy: Chooses the actions.
        steps: Length of the episodes; the environment's own horizon does not matter.
        episodes: Stored episodes to play, one per environment.
        seed: Seed of the episodes when none are given.
        on_step: Called after the reset and after every step.
    """
    require(
        env.metadata["autoreset_mode"] is AutoresetMode.DISABLED,
        "Episodes can be played only without autoreset, which restarts them half-way: build the "
        "environment with autoreset_mode='Disabled'.",
    )
    if hasattr(policy, "reset"):
        policy.reset()
    options = None if episodes is None else {"episode": list(episodes)}
    observation, infos = env.reset(seed=seed, options=options)
    step = Step(observation, np.zeros(env.num_envs, np.float32), infos)
    if on_step is not None:
        on_step(step)
    for _ in range(steps):
        observation, rewards, _, _, infos = env.step(policy.act(step.observation))
        step = Step(observation, rewards, infos)
        if on_step is not None:
            on_step(step)
    return step
