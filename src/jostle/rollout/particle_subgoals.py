"""SMORL from images: one goal particle at a time.

A sub-goal is one particle per view: one of a goal that shows an object, and in every other view the
particle that looks most like it. Training draws it, the policy cycles through all of them.
Shapes: B environments, V views, K particles per view, D columns.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.checkpoint import pack_rng, unpack_rng
from jostle.core.entities import FEATURES, Entities, EntityLayout
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.protocols import Agent, Encoder, GoalSpec, Observation
from jostle.rewards.subgoal import SubgoalReward
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.policies import AgentPolicy
from jostle.rollout.smorl import SWITCH_EVERY

REACHED = 0.3
"""A sub-goal is reached if its reward is above minus this, as in the released code."""


def keep_objects(
    particles: Entities, layout: EntityLayout, classifier: ObjectClassifier
) -> Entities:
    """The particles that show objects, others hidden."""
    kept = particles.visible & classifier(particles.values[..., layout[FEATURES]])
    return Entities(particles.values * kept[..., None], kept)


def subgoals_at(
    goals: Entities, view: NDArray[np.int64], index: NDArray[np.int64], layout: EntityLayout
) -> Entities:
    """The sub-goals (B, V, 1, D) of goals (B, V, K, D): particle `index` (B,) of `view` (B,).

    In other views it is the visible particle of the nearest features, or nothing if none is
    visible.
    """
    rows = np.arange(len(goals.values))
    features = goals.values[..., layout[FEATURES]]  # (B, V, K, F)
    chosen = features[rows, view, index][:, None, None]  # (B, 1, 1, F)
    gap = ((features - chosen) ** 2).sum(-1)  # (B, V, K)
    gap = np.where(goals.visible, gap, np.inf)
    nearest = gap.argmin(-1)  # (B, V)
    nearest[rows, view] = index
    picked = nearest[..., None]  # (B, V, 1)
    visible = np.take_along_axis(goals.visible, picked, -1)
    values = np.take_along_axis(goals.values, picked[..., None], -2)  # (B, V, 1, D)
    return Entities(values * visible[..., None], visible)


def draw_subgoals(
    goals: Entities, layout: EntityLayout, rng: np.random.Generator | None
) -> Entities:
    """Sub-goals (B, V, 1, D): one of the visible particles of each goal, the first without `rng`.

    It is drawn in the first view that shows any; a goal without any gives an invisible sub-goal.
    """
    view = goals.visible.any(-1).argmax(-1)  # (B,)
    candidates = goals.visible[np.arange(len(view)), view]  # (B, K)
    draw = np.ones(candidates.shape) if rng is None else rng.random(candidates.shape)
    return subgoals_at(goals, view, np.where(candidates, draw, -1.0).argmax(-1), layout)


class ParticleSubgoalObserver(PixelObserver):
    """Shows one goal only: one particle per view, drawn for each episode."""

    def __init__(
        self,
        encoder: Encoder,
        cameras: Sequence[str],
        classifier: ObjectClassifier,
        rng: np.random.Generator | None = None,
        device: torch.device | None = None,
    ) -> None:
        """Draw sub-goals among the particles that the classifier keeps; the first without `rng`."""
        super().__init__(encoder, cameras, None, device)
        self._classifier, self.rng = classifier, rng
        self._subgoals: Entities | None = None

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """One particle per view."""
        views, _, width = self.state_shape
        return views, 1, width

    def goal_spec(self) -> GoalSpec:
        """Hindsight draws sub-goals from later states in the same way."""
        columns = np.ones(self.layout.width, np.float32)
        return GoalSpec(0, columns, columns, whole_sets=True, draw=self._draw)

    def reset(self, envs: NDArray[np.int64]) -> None:
        """Draw new sub-goals with the next goals."""
        del envs  # episodes start together in training
        self._subgoals = None

    def goal(self, observation: Observation) -> Entities:
        """The sub-goals of this episode, (B, V, 1, D)."""
        goals = self.goals(observation)
        if self._subgoals is None or len(self._subgoals.values) != len(goals.values):
            self._subgoals = self._draw(goals, self.rng)
        return self._subgoals

    def goals(self, observation: Observation) -> Entities:
        """All goal particles that show objects, (B, V, K, D)."""
        return keep_objects(super().goal(observation), self.layout, self._classifier)

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The random generator."""
        return {}, {} if self.rng is None else {"rng": pack_rng(self.rng)}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        del tensors
        self._subgoals = None
        if self.rng is not None:
            unpack_rng(self.rng, meta["rng"])

    def _draw(self, goals: Entities, rng: np.random.Generator | None) -> Entities:
        return draw_subgoals(goals, self.layout, rng)


class ParticleSubgoalPolicy(AgentPolicy):
    """Works on one goal particle for some steps, then on the next that is not reached."""

    def __init__(
        self,
        agent: Agent,
        observer: ParticleSubgoalObserver,
        reward: SubgoalReward,
        eval_noise_std: float,
    ) -> None:
        """Let `agent` act on sub-goals; `reward` says which are reached."""
        super().__init__(agent, observer, eval_noise_std)
        self._subgoals, self._reward = observer, reward
        self._step = 0
        self._chosen: NDArray[np.int64] | None = None

    def observe(self, observation: Observation) -> tuple[Entities, Entities]:
        """State particles, and all goal particles that show objects, as tensors."""
        state, goals = self.observer.state(observation), self._subgoals.goals(observation)
        self.seen = state, goals
        return state.to_torch(), goals.to_torch()

    def act_on(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Choose actions (B, A) for the present sub-goal among all goal particles."""
        subgoal = self._present(*(x.map(lambda tensor: tensor.numpy()) for x in (state, goal)))
        self._step += 1
        return super().act_on(state, subgoal.to_torch())

    def reset(self) -> None:
        """Start new episodes with the first goal particle."""
        super().reset()
        self._step, self._chosen = 0, None

    def _present(self, state: Entities, goals: Entities) -> Entities:
        """The sub-goals (B, V, 1, D) that are worked on now."""
        view = goals.visible.any(-1).argmax(-1)  # (B,)
        candidates = goals.visible[np.arange(len(view)), view]  # (B, K)
        if self._chosen is None or len(self._chosen) != len(view):
            self._chosen = candidates.argmax(-1)
        elif self._step % SWITCH_EVERY == 0:
            self._switch(state, goals, view, candidates)
        return subgoals_at(goals, view, self._chosen, self.layout)

    def _switch(
        self,
        state: Entities,
        goals: Entities,
        view: NDArray[np.int64],
        candidates: NDArray[np.bool_],
    ) -> None:
        """Advance cyclically, past sub-goals that are reached; stay when all others are."""
        assert self._chosen is not None
        rows, count = np.arange(len(view)), candidates.shape[1]
        reached = np.zeros(candidates.shape, bool)
        for index in np.flatnonzero(candidates.any(0)):
            subgoal = subgoals_at(goals, view, np.full(len(view), index), self.layout)
            reached[:, index] = self._reward.total(state, subgoal) > -REACHED
        following = (self._chosen[:, None] + 1 + np.arange(count)) % count  # (B, K), itself last
        wanted = (candidates & ~reached)[rows[:, None], following]
        wanted[:, -1] = True
        self._chosen = following[rows, wanted.argmax(-1)]
