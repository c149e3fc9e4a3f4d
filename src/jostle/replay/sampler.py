"""Hindsight experience replay: episodes and a reward to batches, vectorized over samples."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.checkpoint import pack_rng, unpack_rng
from jostle.core.entities import Entities
from jostle.core.protocols import GoalSpec, Reward
from jostle.replay.batch import (
    Batch,
    GoalTransition,
    Potential,
    gather_entities,
    gather_steps,
)
from jostle.replay.buffer import EpisodeBuffer
from jostle.replay.config import HindsightConfig as HindsightConfig
from jostle.replay.episodes import Episodes, Trajectory
from jostle.replay.hindsight import Index, future, future_render, last_step_on_table, per_object

Rows = slice | Index


@dataclass(frozen=True)
class RewardSpec:
    """How transitions are rewarded."""

    reward: Reward
    """Reward of what is achieved against what is desired."""
    gamma: float
    """Discount per step."""
    potential_baseline: bool = False
    """Whether batches also hold the values of leaving everything as it is."""


class _Goals(NamedTuple):
    """Goals of a batch, as the actor sees them and as task coordinates."""

    entities: Entities
    coordinates: NDArray[np.float32]
    """(B, N, w)."""


class HindsightSampler:
    """Samples batches from a replay buffer and relabels goals."""

    def __init__(
        self,
        buffer: EpisodeBuffer,
        reward_spec: RewardSpec,
        goal_spec: GoalSpec,
        config: HindsightConfig,
        rng: np.random.Generator,
        critic_goal_spec: GoalSpec | None = None,
    ) -> None:
        """Sample from `buffer`; `critic_goal_spec` reads the goals of privileged critics."""
        self._buffer, self._spec, self._goal_spec = buffer, reward_spec, goal_spec
        self._critic_goal_spec, self._config, self.rng = critic_goal_spec, config, rng

    def sample(self, batch_size: int) -> Batch:
        """Draw transitions, about the first `her_ratio` of them with hindsight goals."""
        episodes = self._buffer.view()

        # Transitions
        episode = self.rng.integers(0, len(episodes), batch_size)
        step = self.rng.integers(0, episodes.steps, batch_size)

        # Relabeled ones begin before the last step that may become a goal
        last = self._last_goal_step(episodes, episode[: int(self._config.her_ratio * batch_size)])
        rows: Rows = slice(len(last)) if last.all() else np.flatnonzero(last)
        last = last[rows]
        step[rows] = (self.rng.random(len(last)) * last).astype(np.int64)

        # Goals: the episode's own, and hindsight
        goals = _Goals(
            episodes.actor.goal.map(lambda values: values.take(episode, 0)),  # copies
            episodes.desired.take(episode, 0),
        )
        goal_steps = step[:0]
        if len(last):
            relabeled, goal_steps = self._relabel(episodes, episode[rows], step[rows], last)
            goals.entities.values[rows] = relabeled.entities.values
            goals.entities.visible[rows] = relabeled.entities.visible
            goals.coordinates[rows] = relabeled.coordinates

        # Rewards and the states on both ends
        reward, ahead = self._n_step_reward(episodes, episode, step, goals)
        next_step = step + ahead
        actor = _transition(episodes.actor, goals.entities, episode, (step, next_step))
        critic = actor
        if self._critic_goal_spec is not None:
            critic_goals = self._critic_goals(episodes, episode, (rows, goal_steps))
            assert episodes.critic is not None
            critic = _transition(episodes.critic, critic_goals, episode, (step, next_step))
        potential = None
        if self._spec.potential_baseline:
            potential = self._potential(episodes, episode, (step, next_step), goals)
        return Batch(
            actor,
            critic,
            torch.from_numpy(gather_steps(episodes.actions, episode, step)),
            torch.from_numpy(reward),
            torch.from_numpy(np.power(self._spec.gamma, ahead, dtype=np.float32)),
            potential,
        )

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """State of the random generator."""
        return {}, {"rng": pack_rng(self.rng)}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        del tensors
        unpack_rng(self.rng, meta["rng"])

    def _last_goal_step(self, episodes: Episodes, episode: Index) -> Index:
        """Latest steps (B,) of episodes that may become goals; 0 where none may."""
        # The paper never takes the very last step as a goal.
        rendered = episodes.rendered_goals is not None
        last = np.full(len(episode), episodes.steps - (0 if rendered else 1))
        if self._goal_spec.table_half_size is not None:
            on_table = last_step_on_table(
                episodes.achieved[episode], self._goal_spec.table_half_size
            )
            last = np.minimum(last, on_table)
        every = self._config.goal_render_every if rendered else 1
        return last // every * every

    def _critic_goals(
        self, episodes: Episodes, episode: Index, relabeled: tuple[Rows, Index]
    ) -> Entities:
        """Goals of true state; those of some rows are read from their goal steps."""
        assert episodes.critic is not None
        assert self._critic_goal_spec is not None
        goals = episodes.critic.goal.map(lambda values: values.take(episode, 0))  # copies
        rows, goal_steps = relabeled
        if len(goal_steps):
            states = gather_entities(episodes.critic.states, episode[rows], goal_steps)
            objects = slice(self._critic_goal_spec.first_entity, None)
            goals.values[rows] = states.values[:, :, objects] * self._critic_goal_spec.columns
            goals.visible[rows] = states.visible[:, :, objects]
        return goals

    def _reward(
        self, episodes: Episodes, episode: Index, step: Index, goals: _Goals
    ) -> NDArray[np.float32]:
        """Reward (B,) of being at a step; it is shown only what it reads."""
        reward = self._spec.reward
        if reward.reads == "coordinates":
            achieved = gather_steps(episodes.achieved, episode, step)
            return reward.total(achieved, goals.coordinates)
        state = gather_entities(episodes.actor.states, episode, step)
        return reward.total(state, goals.entities)

    def _potential(
        self, episodes: Episodes, episode: Index, ends: tuple[Index, Index], goals: _Goals
    ) -> Potential:
        """The present reward forever after, at both ends of the transitions."""
        forever = np.float32(1 / (1 - self._spec.gamma))
        rewards = (self._reward(episodes, episode, end, goals) for end in ends)
        return Potential(*(torch.from_numpy(reward * forever) for reward in rewards))

    def _n_step_reward(
        self, episodes: Episodes, episode: Index, step: Index, goals: _Goals
    ) -> tuple[NDArray[np.float32], Index]:
        """Discounted rewards (B,) of the next n steps or those that are left, and how many."""
        ahead = np.minimum(self._config.n_step, episodes.steps - step)
        total = self._reward(episodes, episode, step + 1, goals)
        for k in range(1, self._config.n_step):
            later = step + np.minimum(k + 1, ahead)
            reward = self._reward(episodes, episode, later, goals)
            total += np.where(k < ahead, np.float32(self._spec.gamma**k) * reward, np.float32(0.0))
        return total, ahead

    def _relabel(
        self, episodes: Episodes, episode: Index, step: Index, last: Index
    ) -> tuple[_Goals, Index]:
        """Goals from later steps, and these steps, (B,) or (B, N)."""
        if episodes.rendered_goals is not None:
            every = self._config.goal_render_every
            image = future_render(step, every, last // every, self.rng)
            entities = gather_entities(episodes.rendered_goals, episode, image)
            goal_step = (image + 1) * every
            return _Goals(entities, gather_steps(episodes.achieved, episode, goal_step)), goal_step
        spec = self._goal_spec
        if spec.whole_sets or (self._config.strategy == "future" and not spec.shared):
            goal_step = future(step, last, self.rng)  # (B,), one for all objects
            objects = slice(spec.first_entity, spec.first_entity + episodes.actor.goal.shape[1])
            states = gather_entities(episodes.actor.states, episode, goal_step)
            entities = Entities(
                states.values[:, :, objects] * spec.columns, states.visible[:, :, objects]
            )
            return _Goals(entities, gather_steps(episodes.achieved, episode, goal_step)), goal_step
        return self._relabel_objects(episodes, episode, step, last)

    def _relabel_objects(
        self, episodes: Episodes, episode: Index, step: Index, last: Index
    ) -> tuple[_Goals, Index]:
        """Goals in which every object may have a step, or another object's heading, of its own."""
        spec, count = self._goal_spec, episodes.achieved.shape[2]

        # Steps, (B, N)
        if self._config.strategy == "per-object":
            paths = episodes.achieved[episode]  # (B, T+1, N, w)
            separation = self._config.min_goal_separation
            goal_steps = per_object(step, last, paths, separation, self.rng)
        else:
            goal_steps = np.repeat(future(step, last, self.rng)[:, None], count, axis=1)

        # Objects whose coordinates are taken
        rows, objects = episode[:, None], np.arange(count)
        if spec.shared:
            chosen = self.rng.integers(0, count, len(step))[:, None]
            objects = np.broadcast_to(chosen, goal_steps.shape)

        # Coordinates and entities
        desired = episodes.achieved[rows, goal_steps, objects]  # (B, N, w)
        others = 1 - spec.first_entity  # the gripper, at the first object's step
        steps = np.concatenate((goal_steps[:, :others], goal_steps), axis=1)
        sources = np.broadcast_to(1 + objects, goal_steps.shape)
        sources = np.concatenate((np.zeros_like(sources[:, :others]), sources), axis=1)
        states = episodes.actor.states.map(
            lambda x: x[rows, steps, :, sources].swapaxes(1, 2)
        )  # (B, V, G, D)
        values = states.values * spec.columns
        if spec.shared:  # the heading is another object's, the identity stays
            values = np.where(spec.coordinates > 0, values, episodes.actor.goal.values[episode])
        return _Goals(Entities(values, states.visible), desired), goal_steps


def _transition(
    seen: Trajectory, goals: Entities, episode: Index, ends: tuple[Index, Index]
) -> GoalTransition:
    """Both ends of transitions as one observer saw them."""
    state, next_state = (gather_entities(seen.states, episode, end).to_torch() for end in ends)
    return GoalTransition(state, goals.to_torch(), next_state)
