"""Imitation of a teacher on the states that the student itself visits (DAgger).

The oracle is a function of the observation alone, so it can label every state on the way. What
the ring holds as actions are the teacher's labels, not what was done.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.clock import CLOCK
from jostle.core.entities import Entities, joined
from jostle.core.protocols import Policy
from jostle.core.rundir import RunDir
from jostle.envs.vector import Observation
from jostle.replay.swapping import swap
from jostle.rollout.collect import as_entities, play_round
from jostle.rollout.observer import Sets
from jostle.training.experiment import Experiment
from jostle.training.rounds import Report, Rounds
from jostle.training.workshop import Workshop

_ROUND = 0.02
"""Below this size an error counts quadratically."""
_HANDOVER = 8
"""Rounds over which the student takes the wheel in its share of the copies."""
_BURST_GOES_ON = 0.6
"""Chance that a random move is followed by the same move."""


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
        self._teacher = teacher
        self._labels: list[NDArray[np.float32]] = []
        self._led = np.zeros(experiment.training.copies, bool)
        self._burst = np.zeros((experiment.training.copies, 3))

    def round(self) -> dict[str, Any]:
        """Play one round, keep the labels, fit."""
        shop, training = self.shop, self.experiment.training
        lead = max(training.demo_share, 1.0 - self.counters["round"] / _HANDOVER)
        self._led, self._labels = np.arange(training.copies) < lead * training.copies, []
        self._burst[:] = 0.0
        keep = training.swap_goals > 0
        episodes, infos = play_round(
            shop.env, shop.observer, self._choose, shop.steps, keep_rows=keep
        )
        shop.ring.add(replace(episodes, actions=np.stack(self._labels, axis=1)))
        self.count(episodes)
        row: dict[str, Any] = {f"train_{key}": value for key, value in infos.items()}
        return row | self._fit(int(training.copies * shop.steps * training.updates_per_step))

    def _choose(self, observation: Observation, state: Sets, goal: Sets) -> NDArray[np.float32]:
        with CLOCK("teacher"):
            labels = self._teacher.act(observation)
        self._labels.append(labels)
        with CLOCK("acting"):
            own = self.shop.agent.act(as_entities(state), as_entities(goal))
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

    def _lesson(self) -> tuple[Entities, Entities, Tensor]:
        """Moments, goals and what the teacher does there, some of them with other goals."""
        shop, size = self.shop, self.experiment.td3.batch
        swapped = int(self.experiment.training.swap_goals * size)
        batch = shop.sampler.sample(size - swapped)
        if not swapped:
            return batch.state, batch.goal, batch.action
        other = swap(shop.ring, swapped, shop.rng)
        labels = torch.from_numpy(self._ask(other.rows, other.desired))
        return (
            joined(batch.state, other.state),
            joined(batch.goal, other.goal),
            torch.cat((batch.action, labels)),
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
        agent, total = self.shop.agent, 0.0
        for _ in range(updates):
            self.pace()
            with CLOCK("sampling"):
                state, goal, labels = self._lesson()
            with CLOCK("updating"):
                state, goal = agent.actor_sees(state), agent.actor_sees(goal)
                loss = imitation_loss(agent.actor(state, goal), labels)
                agent.actor_optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                agent.actor_optimizer.step()
            agent.updates += 1
            total += float(loss.detach())
        return {"updates": agent.updates, "imitation_loss": total / max(updates, 1)}


def imitation_loss(actions: Tensor, labels: Tensor) -> Tensor:
    """Mean length of the errors (B, A), rounded off at zero.

    Where the teacher might do this or that, a squared error asks for the mean of both, which is to
    stand still. The length asks for the median: one of the two.
    """
    gap = (actions - labels).square().sum(-1)  # (B,)
    return ((gap + _ROUND**2).sqrt() - _ROUND).mean()
