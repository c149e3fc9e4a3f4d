"""Errors of trained critics, with the Monte-Carlo returns of the same policy in place of Q*."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.agents.td3 import TD3Agent
from jostle.core.entities import Entities
from jostle.core.protocols import Observation, Observer
from jostle.envs.vector import TabletopVectorEnv
from jostle.rewards.distance import DistanceReward
from jostle.rollout.rollout import Step, rollout

Values = NDArray[np.float64]
STEPS = 100
"""Steps of an episode whose values are compared."""
_EVERY = 5
"""Steps between them: values of neighboring steps are nearly the same."""
_TAIL = 100
"""Further steps for the returns; after them the last reward is assumed to last."""
_BATCH = 256
_LR = 1e-3
"""First step size of the regression; it falls to zero."""


@dataclass(frozen=True)
class Visits:
    """States that an agent visited with a number of objects, S in all, and what followed."""

    objects: int
    state: Entities
    goal: Entities
    action: Tensor
    """(S, A)."""
    returns: Values
    """Discounted sums of the rewards of each object, (S, N); rewards are cut at the least one."""
    potential: Values
    """The present reward of each object forever, (S, N)."""
    at_goal: float
    """Fraction of the objects at their goals at the end of the episodes."""


@dataclass(frozen=True)
class CriticErrors:
    """Errors of the value of a set, with rewards shifted and scaled to [0, 1]."""

    objects: int
    states: int
    """Number of states that were compared."""
    largest: float
    error_95: float
    """95 % of the errors are smaller."""
    bias: float
    """Mean of value minus return."""
    returns_std: float
    """Standard deviation of the returns: the typical error of a constant."""
    at_goal: float
    """Fraction of the objects at their goals at the end of the episodes."""
    object_95: float | None
    """95 % of the errors of values of single objects are smaller; None for pooled critics."""


class VisitRecorder:
    """A policy that acts as an agent does, without noise, and records what it acts on."""

    def __init__(self, agent: TD3Agent, observer: Observer) -> None:
        """Let `agent` act on what `observer` shows."""
        self._agent, self._observer, self._step = agent, observer, 0
        self.visits: list[tuple[Entities, Entities, Tensor]] = []
        """State, goal and action of every fifth step."""

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        state = self._observer.state(observation).to_torch()
        goal = self._observer.goal(observation).to_torch()
        action = self._agent.act(state, goal)
        if self._step < STEPS and self._step % _EVERY == 0:
            self.visits.append((state, goal, torch.from_numpy(action)))
        self._step += 1
        return action


def visit(agent: TD3Agent, observer: Observer, env: TabletopVectorEnv, seed: int) -> Visits:
    """Play one episode in every environment; all have the same number of objects."""
    config = agent.config
    reward = DistanceReward(env.goal_metric, env.state_reader.farthest)
    recorder, rewards = VisitRecorder(agent, observer), []

    def on_step(step: Step) -> None:
        goals = (step.observation[f"{which}_goal"] for which in ("achieved", "desired"))
        rewards.append(reward.per_object(*map(observer.coordinates, goals))[0].astype(float))

    last = rollout(env, recorder, STEPS + _TAIL, seed=seed, on_step=on_step)
    per_step = np.stack(rewards)  # (T + 1, B, N)
    returns = discounted_returns(per_step.clip(config.reward_min, 0), config.gamma)
    states, goals, actions = zip(*recorder.visits, strict=True)
    objects = per_step.shape[-1]
    return Visits(
        objects=objects,
        state=_joined(states),
        goal=_joined(goals),
        action=torch.cat(actions),
        returns=returns[:STEPS:_EVERY].reshape(-1, objects),
        potential=per_step[:STEPS:_EVERY].reshape(-1, objects) / (1 - config.gamma),
        at_goal=float(np.mean(last.infos["success_fraction"])),
    )


def discounted_returns(rewards: Values, gamma: float) -> Values:
    """Returns (T, ...) from the rewards (T + 1, ...) of being at each step; the last one lasts."""
    returns = np.empty_like(rewards[1:])
    following = rewards[-1] / (1 - gamma)
    for step in range(len(returns) - 1, -1, -1):
        following = rewards[step + 1] + gamma * following
        returns[step] = following
    return returns


@torch.no_grad()
def measure_critics(agent: TD3Agent, visits: Visits) -> CriticErrors:
    """Errors of the mean of an agent's critics; their range is 1 / (1 - gamma)."""
    inputs = (agent.critic_normalizer(x) for x in (visits.state, visits.goal))
    q = agent.critics(*inputs, visits.action).mean(0)  # (S,) or (S, N)
    values = q.reshape(len(visits.action), -1).double().numpy()
    returns, potential = visits.returns, visits.potential  # (S, N)
    per_object = agent.net.values == "per-entity"
    if not per_object:
        returns, potential = (x.mean(-1, keepdims=True) for x in (returns, potential))
    if agent.config.potential_baseline:
        values = values + potential
    errors = (values - returns) / abs(agent.config.reward_min)  # (S, N) or (S, 1)
    of_sets = errors.mean(-1)
    return CriticErrors(
        objects=visits.objects,
        states=len(of_sets),
        largest=float(np.abs(of_sets).max()),
        error_95=float(np.quantile(np.abs(of_sets), 0.95)),
        bias=float(of_sets.mean()),
        returns_std=float(returns.mean(-1).std() / abs(agent.config.reward_min)),
        at_goal=visits.at_goal,
        object_95=float(np.quantile(np.abs(errors), 0.95)) if per_object else None,
    )


def fit_critics(
    agent: TD3Agent,
    visits: Sequence[Visits],
    values: Literal["pooled", "per-entity"],
    updates: int,
    seed: int = 0,
) -> TD3Agent:
    """New critics of either kind, fitted to the returns of an agent's policy by regression.

    Both kinds learn from the same states and returns, so that only their form differs. The agent
    that is returned has the same actor.
    """
    net = replace(agent.net, values=values)
    fitted = TD3Agent(net, agent.config, agent.spec, seed)
    fitted.load_weights(agent.acting_tensors())
    rng = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(fitted.critics.parameters(), lr=_LR)
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = _LR * (1 - update / updates)
        data = visits[update % len(visits)]
        rows = torch.randint(len(data.action), (_BATCH,), generator=rng)
        gain = torch.from_numpy(data.returns - data.potential)[rows].float()  # (B, N)
        target = gain if values == "per-entity" else gain.mean(-1)
        inputs = (fitted.critic_normalizer(_rows(x, rows)) for x in (data.state, data.goal))
        q = fitted.critics(*inputs, data.action[rows])  # (C, B) or (C, B, N)
        loss = (q - target).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return fitted


def _rows(entities: Entities, rows: Tensor) -> Entities:
    return entities.map(lambda x: x[rows])


def _joined(parts: Sequence[Entities]) -> Entities:
    """Sets of several steps as one batch."""
    return Entities(*(torch.cat(arrays) for arrays in zip(*parts, strict=True)))
