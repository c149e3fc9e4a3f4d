"""A trained agent as a policy of observations."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities, EntityLayout
from jostle.core.protocols import Agent, Encoder, Observation, Observer
from jostle.rollout.eval_noise import EvalNoise


class AgentPolicy:
    """Acts as the agent does, with evaluation noise."""

    def __init__(self, agent: Agent, observer: Observer, eval_noise_std: float) -> None:
        """Let `agent` act on what `observer` shows, with noise of this standard deviation."""
        self._agent, self._observer, self._noise = agent, observer, EvalNoise(eval_noise_std)
        self.seen: tuple[Entities, Entities] | None = None
        """Entities of state and goal that the last action followed from."""

    @property
    def agent(self) -> Agent:
        """The agent that acts."""
        return self._agent

    @property
    def observer(self) -> Observer:
        """What it sees with."""
        return self._observer

    @property
    def layout(self) -> EntityLayout:
        """Which columns of its entities are what."""
        return self._observer.layout

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of a pixel agent."""
        return None if self._agent.sensor is None else self._agent.sensor.encoder

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras of a pixel agent, in the order of its views."""
        return () if self._agent.sensor is None else self._agent.sensor.cameras

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        return self.act_on(*self.observe(observation))

    def observe(self, observation: Observation) -> tuple[Entities, Entities]:
        """Entities of state and goal, as tensors."""
        state, goal = self._observer.state(observation), self._observer.goal(observation)
        self.seen = state, goal
        return state.to_torch(), goal.to_torch()

    def act_on(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Choose actions (B, A) for what `observe` returned."""
        return self._noise(self._agent.act(state, goal))

    def reset(self) -> None:
        """Start new episodes."""
        self._noise.reset()

    def attention(self, observation: Observation) -> NDArray[np.float32]:
        """Attention of the actor's pooling query to each entity, (B, V, K)."""
        return self._agent.attention(*self.observe(observation))
