"""DAgger: imitate a teacher on the states that the student itself visits.

The teacher is a function of the observation alone, so it can label every state on the way. The
actions in the replay buffer are the teacher's labels, not the actions taken.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.devices import move_tensors
from jostle.core.entities import Entities
from jostle.core.errors import BadValueError
from jostle.core.profiler import PROFILER
from jostle.core.protocols import ImitationAgent, Observation
from jostle.replay.batch import gather_entities, gather_steps
from jostle.replay.goal_augmentation import augment_goals
from jostle.replay.hindsight import Index
from jostle.replay.prioritized import PrioritizedSampler
from jostle.replay.view_dropping import drop_views
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.aux_targets import AuxiliaryTargets
from jostle.training.components import Components
from jostle.training.experiment import Experiment

_SMOOTH = 0.02
"""Errors below this count quadratically."""
_BETA_ITERATIONS = 8
"""Iterations over which control passes from the teacher to the student."""
_PERTURBATION_CONTINUES = 0.6
"""Probability that a random move is repeated at the next step."""


class ImitationBatch(NamedTuple):
    """States, goals and labels; first axis B."""

    state: Entities
    goal: Entities
    labels: Tensor
    """The teacher's actions, (B, A)."""
    aux_targets: Tensor
    """Task coordinates of objects and goals, (B, 2 * N * w)."""

    def to(self, device: torch.device) -> "ImitationBatch":
        """Move to a device by one copy; nothing is copied on the same one."""
        if self.labels.device == device:
            return self
        tensors = (*self.state, *self.goal, self.labels, self.aux_targets)
        values, visible, goals, goals_visible, labels, aux = move_tensors(tensors, device)
        return ImitationBatch(
            Entities(values, visible), Entities(goals, goals_visible), labels, aux
        )


class DaggerTrainer(AgentTrainer):
    """The method `dagger`: collect, let the teacher label, fit the actor."""

    def __init__(
        self, experiment: Experiment, components: Components, run: RunDir, report: Report
    ) -> None:
        """Let the components' teacher label the states of its student."""
        super().__init__(experiment, components, run, report)
        training = experiment.training
        assert components.teacher is not None
        if not isinstance(components.agent, ImitationAgent):
            raise BadValueError(
                f"A {type(components.agent).__name__} cannot imitate a teacher: add predict and "
                "step_actor (jostle.core.protocols.ImitationAgent)."
            )
        self._teacher, self._student = components.teacher, components.agent
        self._aux = AuxiliaryTargets(experiment, components.env)
        self._prioritized = PrioritizedSampler(
            components.buffer, training.prioritized_fraction, components.rng
        )
        self._labels: list[NDArray[np.float32]] = []
        self._errors: list[NDArray[np.float32]] = []
        self._teacher_controls = np.zeros(training.num_envs, bool)
        self._perturbation = np.zeros((training.num_envs, 3))

    def iterate(self) -> None:
        """Collect one episode per environment with labels, and fit."""
        training = self.experiment.training

        # The teacher controls a falling fraction of the environments
        beta = max(training.expert_fraction, 1.0 - self.counters["iteration"] / _BETA_ITERATIONS)
        self._teacher_controls = np.arange(training.num_envs) < beta * training.num_envs
        self._labels, self._errors = [], []
        self._perturbation[:] = 0.0

        # Collect
        episodes, infos = self.components.collector.collect(self._act)
        prioritized = training.prioritized_fraction > 0
        errors = np.stack(self._errors, axis=1) if prioritized else None
        labels = np.stack(self._labels, axis=1)
        self.store(replace(episodes, actions=labels, imitation_error=errors))
        self._metrics = {f"train_{name}": value for name, value in infos.items()}
        self._metrics["imitation_error"] = float(np.mean(self._errors))

        # Fit
        if self.collected_enough:
            self._metrics |= self._fit(self.num_updates())

    def _act(
        self, observation: Observation, state: Entities, goal: Entities
    ) -> NDArray[np.float32]:
        """Perturbed actions of teacher or student; the labels are kept."""
        with PROFILER("teacher"):
            labels = self._teacher.act(observation)
        self._labels.append(labels)
        with PROFILER("acting"):
            own = self._student.act(state.to_torch(), goal.to_torch())
        self._errors.append(np.linalg.norm(own - labels, axis=-1))
        return self._perturb(np.where(self._teacher_controls[:, None], labels, own))

    def _perturb(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Noise injection: random moves that last for some steps, and noise on all others."""
        config, rng = self.experiment.explore, self.components.rng
        starts = rng.random((len(actions), 1)) < config.epsilon
        continues = rng.random((len(actions), 1)) < _PERTURBATION_CONTINUES
        random = rng.uniform(-1, 1, actions.shape)
        previous = np.where(continues, self._perturbation, 0.0)
        self._perturbation = np.where(starts, random, previous)
        perturbed = self._perturbation.any(-1, keepdims=True)
        moved = np.where(perturbed, self._perturbation, actions)
        noisy = moved + config.sigma * rng.standard_normal(actions.shape)
        return np.clip(noisy, -1, 1).astype(np.float32)

    def _batch(self, episode: Index, step: Index) -> ImitationBatch:
        """Labeled states; behind them, some with goals of other episodes and new labels."""
        buffer, rng = self.components.buffer, self.components.rng
        episodes = buffer.view()
        desired = episodes.desired.take(episode, 0)
        achieved = gather_steps(episodes.achieved, episode, step)
        batch = ImitationBatch(
            gather_entities(episodes.actor.states, episode, step).to_torch(),
            episodes.actor.goal.map(lambda values: values.take(episode, 0)).to_torch(),
            torch.from_numpy(gather_steps(episodes.actions, episode, step)),
            self._aux.targets(achieved, desired),
        )
        augmented = self.experiment.td3.batch_size - len(episode)
        if not augmented:
            return self._drop_views(batch)
        other = augment_goals(buffer, augmented, rng)
        labels = torch.from_numpy(self._query_teacher(other.state_obs, other.desired))
        return self._drop_views(
            ImitationBatch(
                Entities.cat((batch.state, other.state)),
                Entities.cat((batch.goal, other.goal)),
                torch.cat((batch.labels, labels)),
                torch.cat((batch.aux_targets, self._aux.targets(other.achieved, other.desired))),
            )
        )

    def _drop_views(self, batch: ImitationBatch) -> ImitationBatch:
        """Hide a view of some samples, in state and goal."""
        fraction, rng = self.experiment.training.drop_view_fraction, self.components.rng
        state, goal = drop_views((batch.state, batch.goal), fraction, rng)
        return batch._replace(state=state, goal=goal)

    def _query_teacher(
        self, state_obs: NDArray[np.float32], desired: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The teacher's actions in true states (B, 1+N, F) for goals (B, N, w)."""
        num_envs = self.experiment.training.num_envs  # a teacher acts in so many at a time
        labels = []
        for start in range(0, len(state_obs), num_envs):
            rows = np.arange(start, start + num_envs) % len(state_obs)
            observation = {"observation": state_obs[rows], "desired_goal": desired[rows]}
            with PROFILER("teacher"):
                labels.append(self._teacher.act(observation))
        return np.concatenate(labels)[: len(state_obs)]

    def _fit(self, updates: int) -> dict[str, Any]:
        """Update the actor on labeled batches; returns means of the losses."""
        agent, config = self._student, self.experiment.td3
        own = config.batch_size - int(
            self.experiment.training.goal_augmentation * config.batch_size
        )
        imitation_loss = aux_loss = 0.0
        self._prioritized.refresh()
        for _ in range(updates):
            self.update_lr()
            with PROFILER("sampling"):
                episode, step = self._prioritized.sample(own)
                batch = self._batch(episode, step).to(agent.device)
            with PROFILER("updating"):
                actions, aux = agent.predict(batch.state, batch.goal)
                errors = imitation_errors(actions, batch.labels)
                loss = errors.mean()
                imitation_loss += float(loss.detach())
                if aux is not None:
                    aux_error = self._aux.loss(aux, batch.aux_targets)
                    aux_loss += float(aux_error.detach())
                    loss = loss + aux_error
                agent.step_actor(loss)
            self._prioritized.update_priorities(episode, step, errors.detach().cpu().numpy()[:own])
        row = {"updates": agent.updates, "imitation_loss": imitation_loss / max(updates, 1)}
        return row | ({"aux_loss": aux_loss / max(updates, 1)} if agent.net.aux_targets else {})


def imitation_errors(actions: Tensor, labels: Tensor) -> Tensor:
    """Length of each error, (B,), smooth at zero.

    Where the teacher might do one thing or another, a squared error asks for the mean of both,
    which is to stand still. The length asks for the median: one of the two.
    """
    squared = (actions - labels).square().sum(-1)  # (B,)
    return (squared + _SMOOTH**2).sqrt() - _SMOOTH
