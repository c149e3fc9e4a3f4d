"""Imitation of a teacher on the states that the student itself visits (DAgger).

The oracle is a function of the observation alone, so it can label every state on the way. What
the ring holds as actions are the teacher's labels, not what was done.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.clock import CLOCK
from jostle.core.entities import Entities, joined
from jostle.core.protocols import Policy
from jostle.core.rundir import RunDir
from jostle.envs.vector import Observation
from jostle.nets.eit import EITActor
from jostle.replay.hindsight import Index
from jostle.replay.rehearsal import Rehearsal
from jostle.replay.sampler import at
from jostle.replay.swapping import swap
from jostle.rollout.collect import as_entities, play_round
from jostle.rollout.observer import Sets
from jostle.training.experiment import Experiment
from jostle.training.rounds import Report, Rounds
from jostle.training.telling import Telling
from jostle.training.workshop import Workshop

_ROUND = 0.02
"""Below this size an error counts quadratically."""
_HANDOVER = 8
"""Rounds over which the student takes the wheel in its share of the copies."""
_BURST_GOES_ON = 0.6
"""Chance that a random move is followed by the same move."""


class Lesson(NamedTuple):
    """What a batch teaches; first axis B."""

    state: Entities
    goal: Entities
    labels: Tensor
    """What the teacher does, (B, A)."""
    truth: Tensor
    """What objects have achieved and what is desired of them, (B, 2 * N * w)."""


class DistillLoop(Rounds):
    """The lane `distill`: play, let the teacher label, fit the actor."""

    def __init__(
        self,
        experiment: Experiment,
        shop: Workshop,
        run: RunDir,
        report: Report,
        teacher: Policy,
    ) -> None:
        """Let `teacher` label what the student in `shop` does."""
        super().__init__(experiment, shop, run, report)
        self._telling = Telling(experiment, shop.env)
        self._teacher = teacher
        self._labels: list[NDArray[np.float32]] = []
        self._mistakes: list[NDArray[np.float32]] = []
        self._rehearsal = Rehearsal(shop.ring, experiment.training.rehearse, shop.rng)
        self._led = np.zeros(experiment.training.copies, bool)
        self._burst = np.zeros((experiment.training.copies, 3))

    def round(self) -> dict[str, Any]:
        """Play one round, keep the labels, fit."""
        shop, training = self.shop, self.experiment.training
        lead = max(training.demo_share, 1.0 - self.counters["round"] / _HANDOVER)
        self._led = np.arange(training.copies) < lead * training.copies
        self._labels, self._mistakes = [], []
        self._burst[:] = 0.0
        keep = training.swap_goals > 0
        episodes, infos = play_round(
            shop.env, shop.observer, self._choose, shop.steps, keep_rows=keep
        )
        mistakes = np.stack(self._mistakes, axis=1) if training.rehearse > 0 else None
        labels = np.stack(self._labels, axis=1)
        shop.ring.add(replace(episodes, actions=labels, mistakes=mistakes))
        self.count(episodes)
        row: dict[str, Any] = {f"train_{key}": value for key, value in infos.items()}
        row["mistake"] = float(np.mean(self._mistakes))
        return row | self._fit(int(training.copies * shop.steps * training.updates_per_step))

    def _choose(self, observation: Observation, state: Sets, goal: Sets) -> NDArray[np.float32]:
        with CLOCK("teacher"):
            labels = self._teacher.act(observation)
        self._labels.append(labels)
        with CLOCK("acting"):
            own = self.shop.agent.act(as_entities(state), as_entities(goal))
        self._mistakes.append(np.linalg.norm(own - labels, axis=-1))
        actions = np.where(self._led[:, None], labels, own)
        return self._shake(actions)

    def _shake(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Lead astray: moves at random that last for some steps, and noise on all others."""
        config, rng = self.experiment.explore, self.shop.rng
        starts = rng.random((len(actions), 1)) < config.epsilon
        goes_on = rng.random((len(actions), 1)) < _BURST_GOES_ON
        fresh = rng.uniform(-1, 1, actions.shape)
        self._burst = np.where(starts, fresh, np.where(goes_on, self._burst, 0.0))
        moved = np.where(self._burst.any(-1, keepdims=True), self._burst, actions)
        noisy = moved + config.sigma * rng.standard_normal(actions.shape)
        return np.clip(noisy, -1, 1).astype(np.float32)

    def _lesson(self, episode: Index, step: Index) -> Lesson:
        """Moments and what the teacher does there; after them, some with other goals."""
        shop = self.shop
        held = shop.ring.view()
        state = Entities.of(at(held.states, episode, step), at(held.visible, episode, step))
        goal = Entities.of(held.goals.take(episode, 0), held.goals_visible.take(episode, 0))
        labels = torch.from_numpy(at(held.actions, episode, step))
        truth = self._telling.truth(at(held.achieved, episode, step), held.desired.take(episode, 0))
        swapped = self.experiment.td3.batch - len(episode)
        if not swapped:
            return Lesson(state, goal, labels, truth)
        other = swap(shop.ring, swapped, shop.rng)
        asked = torch.from_numpy(self._ask(other.rows, other.desired))
        return Lesson(
            joined(state, other.state),
            joined(goal, other.goal),
            torch.cat((labels, asked)),
            torch.cat((truth, self._telling.truth(other.achieved, other.desired))),
        )

    def _ask(self, rows: NDArray[np.float32], desired: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the teacher does in true states (B, 1+N, F) for goals (B, N, w)."""
        copies = self.experiment.training.copies  # a teacher answers for so many at a time
        answers = []
        for start in range(0, len(rows), copies):
            some = np.arange(start, start + copies) % len(rows)
            with CLOCK("teacher"):
                answers.append(
                    self._teacher.act({"observation": rows[some], "desired_goal": desired[some]})
                )
        return np.concatenate(answers)[: len(rows)]

    def _fit(self, updates: int) -> dict[str, float]:
        agent, total, untold, drill = self.shop.agent, 0.0, 0.0, self._rehearsal
        size = self.experiment.td3.batch
        own = size - int(self.experiment.training.swap_goals * size)
        drill.begin()
        for _ in range(updates):
            self.pace()
            with CLOCK("sampling"):
                episode, step = drill.draw(own)
                lesson = self._lesson(episode, step)
            with CLOCK("updating"):
                actions, told = self._answer(lesson)
                mistakes = imitation_errors(actions, lesson.labels)
                loss = mistakes.mean()
                total += float(loss.detach())
                if told is not None:
                    lie = self._telling.error(told, lesson.truth)
                    untold += float(lie.detach())
                    loss = loss + lie
                agent.actor_optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                agent.actor_optimizer.step()
            drill.note(episode, step, mistakes.detach().numpy()[:own])
            agent.updates += 1
        row = {"updates": agent.updates, "imitation_loss": total / max(updates, 1)}
        return row | ({"telling_loss": untold / max(updates, 1)} if agent.net.tells else {})

    def _answer(self, lesson: Lesson) -> tuple[Tensor, Tensor | None]:
        """What the student does, and what it tells if it is made to."""
        agent = self.shop.agent
        state, goal = agent.normalizer(lesson.state), agent.normalizer(lesson.goal)
        if isinstance(agent.actor, EITActor):
            return agent.actor.act_and_tell(state, goal)
        return agent.actor(state, goal), None


def imitation_errors(actions: Tensor, labels: Tensor) -> Tensor:
    """Length of each error, (B,), rounded off at zero.

    Where the teacher might do this or that, a squared error asks for the mean of both, which is to
    stand still. The length asks for the median: one of the two.
    """
    gap = (actions - labels).square().sum(-1)  # (B,)
    return (gap + _ROUND**2).sqrt() - _ROUND
