"""SMORL's way: one object at a time.

The set of a state begins with the gripper and the chosen object; the others follow. So hindsight
reads the goal off the same place for every choice, and an attention network does not mind.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.agents.td3 import TD3Agent
from jostle.core.measures import Measure
from jostle.core.protocols import Observation
from jostle.envs.observe import StateReader
from jostle.rollout.collect import as_entities
from jostle.rollout.observer import Sets, StateObserver
from jostle.rollout.unrest import Unrest

SWITCH_EVERY = 15
"""Steps after which the meta-policy turns to the next object."""


class SubgoalObserver(StateObserver):
    """Shows one goal only: that of the chosen object of each copy."""

    def __init__(self, reader: StateReader, copies: int, rng: np.random.Generator | None) -> None:
        """Begin with the first object everywhere."""
        super().__init__(reader, copies, rng)
        self.chosen = np.zeros(copies, np.int64)

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """One entity."""
        return 1, 1, self.features

    def begin(self, copies: NDArray[np.int64]) -> None:
        """Draw codes, and which object each copy is about."""
        super().begin(copies)
        if self.rng is not None:
            self.chosen[copies] = self.rng.integers(0, self._reader.objects, len(copies))

    def state(self, observation: Observation) -> Sets:
        """The gripper, the chosen object, the others."""
        whole = super().state(observation)
        rest = np.tile(np.arange(self._reader.objects), (len(self.chosen), 1))  # (B, N)
        first = self.chosen[:, None]
        order = np.where(rest == first, -1, rest).argsort(-1, kind="stable")  # chosen first
        order = np.concatenate((np.zeros_like(first), 1 + order), axis=1)  # (B, 1+N)
        rows = np.arange(len(order))[:, None]
        return Sets(whole.values[rows, 0, order][:, None], whole.visible[rows, 0, order][:, None])

    def goal(self, observation: Observation) -> Sets:
        """Where the chosen object shall go."""
        whole = super().goal(observation)
        rows = np.arange(len(self.chosen))
        values = whole.values[rows, 0, self.chosen][:, None, None]  # (B, 1, 1, D)
        return Sets(values, whole.visible[rows, 0, self.chosen][:, None, None])

    def coordinates(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Only the chosen object's coordinates count, (B, 1, w)."""
        return rows[np.arange(len(rows)), self.chosen][:, None]


class SubgoalPolicy:
    """Works on one object for some steps, then on the next that is not yet at its goal."""

    def __init__(
        self, agent: TD3Agent, observer: SubgoalObserver, measure: Measure, restless: float
    ) -> None:
        """Let `agent` act on what `observer` shows; `measure` says what is done."""
        self._agent, self._observer, self._measure = agent, observer, measure
        self._unrest, self._step = Unrest(restless), 0

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        if self._step and self._step % SWITCH_EVERY == 0:
            self._switch(observation)
        self._step += 1
        actions = self._agent.act(
            as_entities(self._observer.state(observation)),
            as_entities(self._observer.goal(observation)),
        )
        return self._unrest(actions)

    def restart(self) -> None:
        """Begin a new episode with the first object."""
        self._unrest.restart()
        self._step = 0
        self._observer.chosen[:] = 0

    def _switch(self, observation: Observation) -> None:
        """Advance cyclically, past objects that are home; stay when all others are."""
        home = self._measure.reached(observation["achieved_goal"], observation["desired_goal"])
        count, chosen = home.shape[1], self._observer.chosen
        ahead = (chosen[:, None] + 1 + np.arange(count)) % count  # (B, N): next ones, self last
        open_ = ~home[np.arange(len(home))[:, None], ahead]
        open_[:, -1] = True
        chosen[:] = ahead[np.arange(len(home)), open_.argmax(-1)]
