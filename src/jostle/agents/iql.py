"""Implicit Q-learning for sets: state values by expectile regression, a policy by DDPG + BC.

No action is evaluated that the data does not hold, but for the actor's own, which behavior cloning
keeps near the data. With values per entity, every object has its own value, reward and expectile.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from jostle.agents.base import CPU, PixelSensor, make_adam, move
from jostle.agents.config import IQLConfig, TD3Config
from jostle.agents.networks import ObservationSpec, make_value
from jostle.agents.td3 import TD3Agent
from jostle.agents.values import mean_over_objects, td_target
from jostle.core.checkpoint import load_into, optimizer_state, optimizer_tensors
from jostle.nets.config import NetConfig
from jostle.replay.batch import Batch, GoalTransition


class IQLAgent(TD3Agent):
    """Actor, twin critics and target critics of TD3, and a network of state values."""

    def __init__(
        self,
        net: NetConfig,
        config: TD3Config,
        iql: IQLConfig,
        spec: ObservationSpec,
        seed: int,
        sensor: PixelSensor | None = None,
        device: torch.device = CPU,
    ) -> None:
        """Build the networks of TD3 and, from a seed of its own, that of state values."""
        super().__init__(net, config, spec, seed, sensor, device=device)
        self.iql = iql
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + 2)
            self.value = move(make_value(self.critic_net, spec.critic or spec), device)
        self.value_optimizer = make_adam(self.value.parameters(), config.critic_lr or config.lr)

    def _update(self, batch: Batch) -> dict[str, Tensor]:
        actor_obs, critic_obs = self._normalized(batch)
        self.updates += 1

        # State values: an expectile of the target critics' values of the data's actions
        with torch.no_grad():
            target_q = self.target_critics(critic_obs.state, critic_obs.goal, batch.action)
            target_q = target_q.amin(0)  # (B,) or (B, N)
        value = self.value(critic_obs.state, critic_obs.goal)
        losses = expectile_loss(target_q - value, self.iql.expectile)
        value_loss = mean_over_objects(losses, batch.present).mean()
        self._optimizer_step(self.value_optimizer, value_loss, self.value)

        # Critics: one step of reward, then the state value
        with torch.no_grad():
            next_value = self.value(critic_obs.next_state, critic_obs.goal)
            target = td_target(batch, next_value, self.config.q_min)
        q = self.critics(critic_obs.state, critic_obs.goal, batch.action)  # (C, B) or (C, B, N)
        errors = F.mse_loss(q, target.expand_as(q), reduction="none")
        critic_loss = mean_over_objects(errors, batch.present).mean(1).sum()
        self._optimizer_step(self.critic_optimizer, critic_loss, self.critics)
        log = {
            "value_loss": value_loss.detach(),
            "critic_loss": critic_loss.detach(),
            "q_mean": mean_over_objects(q.detach(), batch.present).mean(),
            "value_mean": mean_over_objects(value.detach(), batch.present).mean(),
        }

        # Delayed actor step and target networks
        if self.updates % self.config.policy_delay == 0:
            if self.updates > self.config.critic_warmup_updates:
                advantage = mean_over_objects(target_q - value.detach(), batch.present)  # (B,)
                log |= self._extract(actor_obs, critic_obs, batch, advantage)
            self._update_targets()
        return log

    def _extract(
        self,
        actor_obs: GoalTransition,
        critic_obs: GoalTransition,
        batch: Batch,
        advantage: Tensor,
    ) -> dict[str, Tensor]:
        """One actor step of DDPG + BC; `advantage` (B,) is that of the batch's actions."""
        action = self.actor(actor_obs.state, actor_obs.goal)
        q = self._frozen_q(critic_obs, action, count=1)[0]  # (B,) or (B, N)
        q = mean_over_objects(q, batch.present)  # (B,)
        scale = q.detach().abs().mean().clamp(min=1e-6)
        distance = (action - batch.action).square().mean(-1)  # (B,)
        if self.iql.bc_advantage_filter:
            distance = distance * clone_weights(advantage, self.iql.bc_by_advantage)
        bc_loss = distance.mean()
        loss = -q.mean() / scale + self.iql.bc_alpha * bc_loss
        self._optimizer_step(self.actor_optimizer, loss, self.actor)
        return {
            "actor_loss": loss.detach(),
            "bc_loss": bc_loss.detach(),
            "action_abs": action.detach().abs().mean(),
        }

    def set_lr_scale(self, scale: float) -> None:
        """Scale all step sizes."""
        super().set_lr_scale(scale)
        for group in self.value_optimizer.param_groups:
            group["lr"] = (self.config.critic_lr or self.config.lr) * scale

    def learning_tensors(self) -> dict[str, Tensor]:
        """Critics, target networks and state values."""
        return super().learning_tensors() | self._value_tensors()

    def load_weights(self, tensors: dict[str, Tensor], grow: bool = False) -> None:
        """Load all networks that the tensors hold."""
        super().load_weights(tensors, grow)
        if any(name.startswith("value.") for name in tensors):
            load_into(self.value, tensors, "value.", "value")

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Networks, optimizers, noise and counters."""
        tensors, meta = super().state_dict()
        own = optimizer_tensors(self.value_optimizer, "value_optimizer.")
        return tensors | self._value_tensors() | own, meta

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(tensors, meta)
        load_into(self.value, tensors, "value.", "value")
        self.value_optimizer.load_state_dict(
            optimizer_state(self.value_optimizer, tensors, "value_optimizer.")
        )

    def _value_tensors(self) -> dict[str, Tensor]:
        return {f"value.{name}": tensor for name, tensor in self.value.state_dict().items()}


def clone_weights(advantage: Tensor, proportional: bool) -> Tensor:
    """How much each action of a batch (B,) is cloned: only those of a positive advantage are.

    Args:
        advantage: How much better the actions are than the values of their states, (B,).
        proportional: Whether they count in proportion to it, with a mean of 1; else 1 each.
    """
    if not proportional:
        return (advantage > 0).to(advantage.dtype)
    better = advantage.clamp(min=0)
    return better / better.mean().clamp(min=1e-6)


def expectile_loss(difference: Tensor, expectile: float) -> Tensor:
    """Squared differences, weighted by `expectile` where they are positive and 1 - it elsewhere.

    The value that minimizes the mean of this over samples is their expectile: the mean for 0.5,
    and near the maximum for values near 1.
    """
    weight = torch.where(difference > 0, expectile, 1 - expectile)
    return weight * difference.square()
