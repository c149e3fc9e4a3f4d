"""Hindsight experience replay: episodes and a reward to batches, vectorized over samples."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.checkpoint import pack_rng, unpack_rng
from jostle.core.entities import Entities
from jostle.core.errors import require
from jostle.core.found_objects import seen_now
from jostle.core.protocols import GoalSpec
from jostle.replay.batch import Batch, GoalTransition, gather_entities, gather_steps
from jostle.replay.buffer import EpisodeBuffer
from jostle.replay.config import HindsightConfig as HindsightConfig
from jostle.replay.episodes import Episodes, Trajectory
from jostle.replay.goal_sources import GoalSources, mix_sources
from jostle.replay.hindsight import (
    Index,
    future,
    future_allowed,
    future_render,
    last_allowed,
    last_step_on_table,
    per_object,
)
from jostle.replay.interaction import InteractionSampler
from jostle.replay.transition_rewards import Goals, RewardSpec, TransitionRewards

Rows = slice | Index


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
        require(
            not config.mixes_sources or not (goal_spec.shared or goal_spec.whole_sets),
            "Goals of other episodes, and objects that stay, need a goal per object: they are for "
            "positions of true state. Train without --other-episode-fraction and --stay-fraction.",
        )
        self._buffer, self._goal_spec, self._critic_goal_spec = buffer, goal_spec, critic_goal_spec
        self._config, self.rng = config, rng
        self._rewards = TransitionRewards(reward_spec, config.n_step)
        self._interactions = InteractionSampler(config.interaction_fraction, goal_spec, rng)

    def sample(self, batch_size: int) -> Batch:
        """Draw transitions, about the first `her_ratio` of them with hindsight goals."""
        episodes = self._buffer.view()

        # Transitions, some of which moved an object
        episode = self.rng.integers(0, len(episodes), batch_size)
        step = self.rng.integers(0, episodes.steps, batch_size)
        chosen = self._interactions.redraw(episodes, episode, step)

        # Relabeled ones begin before the last step that may become a goal
        last = self._last_goal_step(episodes, episode[: int(self._config.her_ratio * batch_size)])
        rows: Rows = slice(len(last)) if last.all() else np.flatnonzero(last)
        last = last[rows]
        drawn = (self.rng.random(len(last)) * last).astype(np.int64)
        step[rows] = np.where(chosen[rows] & (step[rows] < last), step[rows], drawn)

        # Goals: the episode's own, and hindsight
        goals = Goals(
            episodes.actor.goal.map(lambda values: values.take(episode, 0)),  # copies
            episodes.desired.take(episode, 0),
            None if episodes.goal_ties is None else episodes.goal_ties.take(episode, 0),
            _goal_objects(episodes, episode),
        )
        goal_steps = step[:0]
        if len(last):
            relabeled, goal_steps = self._relabel(episodes, episode[rows], step[rows], last)
            goals.replace_rows(rows, relabeled)

        # Rewards, and the states on both ends
        reward, ahead = self._rewards.n_step(episodes, episode, step, goals)
        ends = step, step + ahead
        actor = critic = _transition(episodes.actor, goals.entities, episode, ends)
        if self._critic_goal_spec is not None:
            critic_goals = self._critic_goals(episodes, episode, (rows, goal_steps))
            assert episodes.critic is not None
            critic = _transition(episodes.critic, critic_goals, episode, ends)
        return Batch(
            actor,
            critic,
            torch.from_numpy(gather_steps(episodes.actions, episode, step)),
            torch.from_numpy(reward),
            torch.from_numpy(self._rewards.discount(ahead)),
            self._rewards.potential(episodes, episode, ends, goals),
            self._rewards.present(episodes, episode, step, goals),
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
        if episodes.goal_steps is not None:
            return last_allowed(self._allowed(episodes)[episode])
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

    def _allowed(self, episodes: Episodes) -> NDArray[np.bool_]:
        """Which steps may become goals by images, (E, T+1)."""
        assert episodes.goal_steps is not None
        if episodes.rendered_goals is None:
            return episodes.goal_steps & (np.arange(episodes.steps + 1) < episodes.steps)
        every = self._config.goal_render_every
        return episodes.goal_steps & (np.arange(episodes.steps + 1) % every == 0)

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

    def _relabel(
        self, episodes: Episodes, episode: Index, step: Index, last: Index
    ) -> tuple[Goals, Index]:
        """Goals from later steps, and these steps, (B,) or (B, N)."""
        if episodes.goal_steps is not None:
            goal_step = future_allowed(step, self._allowed(episodes)[episode], self.rng)
            return self._seen_goals(episodes, episode, goal_step), goal_step
        if episodes.rendered_goals is not None:
            every = self._config.goal_render_every
            image = future_render(step, every, last // every, self.rng)
            entities = gather_entities(episodes.rendered_goals, episode, image)
            goal_step = (image + 1) * every
            achieved = gather_steps(episodes.achieved, episode, goal_step)
            return Goals(entities, achieved, _ties(episodes, episode, image)), goal_step
        spec = self._goal_spec
        if spec.whole_sets or (self._config.strategy == "future" and not spec.shared):
            goal_step = future(step, last, self.rng)  # (B,), one for all objects
            objects = slice(spec.first_entity, spec.first_entity + episodes.actor.goal.shape[1])
            states = gather_entities(episodes.actor.states, episode, goal_step)
            entities = Entities(
                states.values[:, :, objects] * spec.columns, states.visible[:, :, objects]
            )
            achieved = gather_steps(episodes.achieved, episode, goal_step)
            return Goals(entities, achieved, _ties(episodes, episode, goal_step)), goal_step
        return self._relabel_objects(episodes, episode, step, last)

    def _seen_goals(self, episodes: Episodes, episode: Index, goal_step: Index) -> Goals:
        """Goals as images show them at these steps (B,), or as they were rendered then."""
        image = goal_step
        if episodes.rendered_goals is None:
            entities = gather_entities(episodes.actor.states, episode, goal_step)
            entities = self._goal_of(entities)
        else:
            image = goal_step // self._config.goal_render_every - 1
            entities = gather_entities(episodes.rendered_goals, episode, image)
        if self._goal_spec.draw is not None:
            entities = self._goal_spec.draw(entities, self.rng)
        objects = None
        if episodes.objects is not None:
            objects = seen_now(gather_entities(episodes.objects.states, episode, goal_step))
        achieved = gather_steps(episodes.achieved, episode, goal_step)
        return Goals(entities, achieved, _ties(episodes, episode, image), objects)

    def _goal_of(self, states: Entities) -> Entities:
        """What of states (B, V, K, D) belongs to a goal."""
        spec = self._goal_spec
        if spec.first_entity:
            objects = slice(spec.first_entity, None)
            states = Entities(states.values[:, :, objects] * spec.columns,
                              states.visible[:, :, objects])  # fmt: skip
        return states if spec.keep is None else spec.keep(states)

    def _relabel_objects(
        self, episodes: Episodes, episode: Index, step: Index, last: Index
    ) -> tuple[Goals, Index]:
        """Goals in which every object may have a step, or another object's heading, of its own."""
        spec, count = self._goal_spec, episodes.achieved.shape[2]

        # Steps, (B, N)
        if self._config.strategy == "per-object":
            paths = episodes.achieved[episode]  # (B, T+1, N, w)
            separation = self._config.min_goal_separation
            goal_steps = per_object(step, last, paths, separation, self.rng)
        else:
            goal_steps = np.repeat(future(step, last, self.rng)[:, None], count, axis=1)

        # Episodes, (B, N): the sample's own, or others
        sources = GoalSources(np.repeat(episode[:, None], count, axis=1), goal_steps)
        if self._config.mixes_sources:
            sources = self._mixed(episodes, sources, step)
            goal_steps = sources.step

        # Objects whose coordinates are taken
        objects = np.arange(count)
        if spec.shared:
            chosen = self.rng.integers(0, count, len(step))[:, None]
            objects = np.broadcast_to(chosen, goal_steps.shape)

        # Coordinates and entities
        desired = episodes.achieved[sources.episode, goal_steps, objects]  # (B, N, w)
        others = 1 - spec.first_entity  # the gripper, at the first object's step
        rows, steps = (np.concatenate((x[:, :others], x), axis=1) for x in sources)
        entity = np.broadcast_to(1 + objects, goal_steps.shape)
        entity = np.concatenate((np.zeros_like(entity[:, :others]), entity), axis=1)
        states = episodes.actor.states.map(
            lambda x: x[rows, steps, :, entity].swapaxes(1, 2)
        )  # (B, V, G, D)
        values = states.values * spec.columns
        if spec.shared or self._config.mixes_sources:  # the identity stays
            values = np.where(spec.coordinates > 0, values, episodes.actor.goal.values[episode])
        return Goals(Entities(values, states.visible), desired), goal_steps

    def _mixed(self, episodes: Episodes, own: GoalSources, step: Index) -> GoalSources:
        """Sources of which some are other episodes or the present step."""
        last = self._last_goal_step(episodes, np.arange(len(episodes)))  # (E,)
        return mix_sources(own, step, episodes.achieved, last, self._config, self.rng)


def _goal_objects(episodes: Episodes, episode: Index) -> Entities | None:
    """Objects of the episodes' own goals, (B, 1, M, W), copied; None if no reward reads them."""
    if episodes.objects is None:
        return None
    return episodes.objects.goal.map(lambda values: values.take(episode, 0))


def _transition(
    seen: Trajectory, goals: Entities, episode: Index, ends: tuple[Index, Index]
) -> GoalTransition:
    """Both ends of transitions as one observer saw them."""
    state, next_state = (gather_entities(seen.states, episode, end).to_torch() for end in ends)
    return GoalTransition(state, goals.to_torch(), next_state)


def _ties(episodes: Episodes, episode: Index, index: Index) -> NDArray[np.int8] | None:
    """Objects (B, V, K) that the particles of later images lie on, if they are known."""
    ties = episodes.hindsight_ties
    return None if ties is None else gather_steps(ties, episode, index)
