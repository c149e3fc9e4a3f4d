"""Values of critics, for agents of true state whose critics are stored."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.agents.td3 import TD3Agent
from jostle.core.checkpoint import load
from jostle.core.entities import Entities
from jostle.core.errors import JostleError
from jostle.core.protocols import Agent, Observation
from jostle.runs.run_dir import RunDir, critics_file
from jostle.zoo.agents import find_weights

if TYPE_CHECKING:
    from jostle.envs.vector import TabletopVectorEnv


class Critics:
    """The critics of an agent, which say how much reward they expect."""

    def __init__(self, agent: TD3Agent, env: "TabletopVectorEnv") -> None:
        """Read the loaded critics of `agent`."""
        self._agent, self._env = agent, env

    @torch.no_grad()
    def values(
        self,
        state: Entities,
        goal: Entities,
        actions: NDArray[np.float32],
        observation: Observation,
    ) -> list[float]:
        """Expected discounted reward of an action: of each object, or one of all."""
        agent = self._agent
        normalize = agent.critic_normalizer
        inputs = normalize(state), normalize(goal), torch.from_numpy(actions)
        values = agent.critics(*inputs).amin(0)[0].double().numpy()  # (N,) or ()
        if agent.config.potential_baseline:
            values = values + self._potential(observation, per_object=values.ndim == 1)
        rounded: list[float] = np.round(np.atleast_1d(values), 3).tolist()
        return rounded

    def _potential(self, observation: Observation, per_object: bool) -> NDArray[np.float64]:
        """The present reward forever after."""
        ends = observation["achieved_goal"], observation["desired_goal"]
        reward = self._env.reward
        rewards = reward.per_object(*ends)[0][0] if per_object else reward.total(*ends)[0]
        return np.asarray(rewards, np.float64) / (1 - self._agent.config.gamma)


def load_critics(name: str, agent: Agent, env: "TabletopVectorEnv") -> Critics | None:
    """Load the critics that are stored with an agent's weights; None if there are none."""
    if not isinstance(agent, TD3Agent) or agent.sensor is not None or agent.spec.critic:
        return None
    tensors = _critic_tensors(find_weights(name))
    if not tensors:
        return None
    try:
        agent.load_weights({**agent.acting_tensors(), **tensors})
    except (JostleError, RuntimeError):  # critics of another architecture
        return None
    return Critics(agent, env)


def _critic_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Tensors of the critics beside weights, or in the last checkpoint of a run."""
    file = RunDir(path).last if path.is_dir() else critics_file(path)
    if not file.is_file():
        return {}
    tensors, _ = load(file)
    plain = {name.removeprefix("agent."): tensor for name, tensor in tensors.items()}
    return {name: tensor for name, tensor in plain.items() if name.startswith("critics.")}
