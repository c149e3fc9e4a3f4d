"""SMORL: one object at a time.

The set of a state starts with the gripper and the chosen object; the others follow. So hindsight
reads the goal off the same entity for every choice, and attention is invariant to the order.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import Entities
from jostle.core.goal_metric import GoalMetric
from jostle.core.protocols import Agent, Observation
from jostle.envs.observe import StateReader
from jostle.rollout.eval_noise import EvalNoise
from jostle.rollout.observer import StateFeatures, StateObserver

SWITCH_EVERY = 15
"""Steps after which the meta-policy turns to the next object."""


class SubgoalObserver(StateObserver):
    """Shows one goal only: that of the chosen object of each environment."""

    def __init__(
        self,
        reader: StateReader,
        num_envs: int,
        rng: np.random.Generator | None,
        features: StateFeatures = "full",
        shuffle_ids: bool = True,
    ) -> None:
        """Start with the first object everywhere; `rng` chooses others in each episode."""
        super().__init__(reader, num_envs, rng, features, shuffle_ids)
        self._goal_gripper = False
        self.chosen = np.zeros(num_envs, np.int64)

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """One entity."""
        return 1, 1, self.layout.width

    def reset(self, envs: NDArray[np.int64]) -> None:
        """Draw object ids, and the object that each environment is about."""
        super().reset(envs)
        if self.rng is not None:
            self.chosen[envs] = self.rng.integers(0, self._reader.objects, len(envs))

    def state(self, observation: Observation) -> Entities:
        """The gripper, the chosen object, the others."""
        entities = super().state(observation)
        objects = np.tile(np.arange(self._reader.objects), (len(self.chosen), 1))  # (B, N)
        chosen = self.chosen[:, None]
        order = np.where(objects == chosen, -1, objects).argsort(-1, kind="stable")
        order = np.concatenate((np.zeros_like(chosen), 1 + order), axis=1)  # (B, 1+N)
        rows = np.arange(len(order))[:, None]
        return entities.map(lambda array: array[rows, 0, order][:, None])

    def goal(self, observation: Observation) -> Entities:
        """The chosen object where it should be."""
        rows = np.arange(len(self.chosen))
        goals = super().goal(observation)
        return goals.map(lambda array: array[rows, 0, self.chosen][:, None, None])

    def coordinates(self, goals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Only the chosen object's coordinates count, (B, 1, w)."""
        return goals[np.arange(len(goals)), self.chosen][:, None]

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Object ids, chosen objects and their random generator."""
        tensors, meta = super().state_dict()
        return {**tensors, "chosen": torch.from_numpy(self.chosen)}, meta

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(tensors, meta)
        self.chosen[:] = tensors["chosen"].numpy()


class SubgoalPolicy:
    """Works on one object for some steps, then on the next that is not yet at its goal."""

    def __init__(
        self, agent: Agent, observer: SubgoalObserver, metric: GoalMetric, eval_noise_std: float
    ) -> None:
        """Let `agent` act on what `observer` shows; `metric` says which objects are at goal."""
        self._agent, self._observer, self._metric = agent, observer, metric
        self._noise, self._step = EvalNoise(eval_noise_std), 0

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        if self._step and self._step % SWITCH_EVERY == 0:
            self._switch(observation)
        self._step += 1
        state, goal = self._observer.state(observation), self._observer.goal(observation)
        return self._noise(self._agent.act(state.to_torch(), goal.to_torch()))

    def reset(self) -> None:
        """Start new episodes with the first object."""
        self._noise.reset()
        self._step = 0
        self._observer.chosen[:] = 0

    def _switch(self, observation: Observation) -> None:
        """Advance cyclically, past objects at their goal; stay when all others are."""
        achieved, desired = observation["achieved_goal"], observation["desired_goal"]
        at_goal = self._metric.reached(achieved, desired)  # (B, N)
        rows, count, chosen = np.arange(len(at_goal)), at_goal.shape[1], self._observer.chosen
        following = (chosen[:, None] + 1 + np.arange(count)) % count  # (B, N), itself last
        candidate = ~at_goal[rows[:, None], following]
        candidate[:, -1] = True
        chosen[:] = following[rows, candidate.argmax(-1)]
