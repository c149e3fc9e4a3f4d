"""The stepping loop: where a policy meets an environment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Policy
from jostle.envs.vector import Observation, TabletopVectorEnv
from jostle.tasks.episode import EpisodeSpec


@dataclass(frozen=True)
class Step:
    """What one round of all copies gave."""

    observation: Observation
    rewards: NDArray[np.float32]
    infos: dict[str, Any]


def play(
    env: TabletopVectorEnv,
    policy: Policy,
    steps: int,
    episodes: Sequence[EpisodeSpec] | None = None,
    seed: int | None = None,
    watch: Callable[[Step], None] | None = None,
) -> Step:
    """Play one episode of `steps` actions in every copy; returns the last moment.

    Args:
        env: Copies with autoreset disabled.
        policy: Who acts.
        steps: Length of the episodes; the environment's own horizon is not asked.
        episodes: Stored episodes to start, one per copy.
        seed: Seed of the episodes when none are given.
        watch: Called after the reset and after every step.
    """
    if hasattr(policy, "restart"):
        policy.restart()
    options = None if episodes is None else {"episode": list(episodes)}
    observation, infos = env.reset(seed=seed, options=options)
    step = Step(observation, np.zeros(env.num_envs, np.float32), infos)
    if watch is not None:
        watch(step)
    for _ in range(steps):
        observation, rewards, _, _, infos = env.step(policy.act(step.observation))
        step = Step(observation, rewards, infos)
        if watch is not None:
            watch(step)
    return step
