"""A trained agent as a policy for the driver."""

import numpy as np
from numpy.typing import NDArray

from jostle.agents.td3 import TD3Agent
from jostle.envs.vector import Observation
from jostle.particles.catalog import Model
from jostle.rollout.collect import as_entities
from jostle.rollout.observer import Observer
from jostle.rollout.unrest import Unrest


class LearnedPolicy:
    """Acts as the agent says, with as much noise as it is restless."""

    def __init__(self, agent: TD3Agent, observer: Observer, restless: float) -> None:
        """Let `agent` see through `observer`, with noise of deviation `restless`."""
        self._agent, self._observer, self._unrest = agent, observer, Unrest(restless)

    @property
    def eyes(self) -> Model | None:
        """What the agent sees with; nothing if it reads true state."""
        return self._agent.eyes

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        actions = self._agent.act(
            as_entities(self._observer.state(observation)),
            as_entities(self._observer.goal(observation)),
        )
        return self._unrest(actions)

    def restart(self) -> None:
        """Begin a new episode."""
        self._unrest.restart()

    def attention(self, observation: Observation) -> NDArray[np.float32]:
        """How much the actor makes of each entity that it sees, (B, V, K)."""
        return self._agent.attention(
            as_entities(self._observer.state(observation)),
            as_entities(self._observer.goal(observation)),
        )
