"""TD3: twin critics, a delayed actor, target networks of all three. The update fits on a screen."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from jostle.agents import weights
from jostle.agents.base import CPU, BaseAgent, PixelSensor, make_adam, move
from jostle.agents.config import TD3Config
from jostle.agents.networks import ObservationSpec, make_actor, make_critics, make_normalizer
from jostle.agents.values import mean_over_objects, td_target
from jostle.core.devices import compile_modules, set_matmul_precision
from jostle.core.entities import Entities
from jostle.core.errors import BadValueError, NotFiniteError
from jostle.nets.attention_entropy import attention_entropy
from jostle.nets.config import NetConfig
from jostle.nets.eit import EITActor
from jostle.replay.batch import Batch, GoalTransition
from jostle.replay.episodes import Episodes, Trajectory

_DIAGNOSED = 64
"""Transitions of a batch on which the networks are diagnosed."""


class TD3Agent(BaseAgent):
    """Acts with an actor, learns with twin critics; normalization is the first layer of all."""

    def __init__(
        self,
        net: NetConfig,
        config: TD3Config,
        spec: ObservationSpec,
        seed: int,
        sensor: PixelSensor | None = None,
        eval_noise_std: float = 0.0,
        device: torch.device = CPU,
    ) -> None:
        """Build the networks from a seed of their own; critics observe `spec.critic` if given."""
        super().__init__(net, spec, sensor, eval_noise_std, device)
        self.config = config
        self.critic_net = replace(net, table_xy=False) if spec.critic else net
        critic_spec = spec.critic or spec

        # Networks, initialized on the CPU so that a seed means the same on every device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = move(make_actor(net, spec), device)
            self.critics = move(make_critics(self.critic_net, critic_spec), device)
        self.normalizer = move(make_normalizer(net, spec), device)
        self.critic_normalizer = self.normalizer
        """First layer of the critics: the actor's, unless they are privileged."""
        if spec.critic:
            normalizer = make_normalizer(self.critic_net, critic_spec)
            self.critic_normalizer = move(normalizer, device)

        # Target networks, and the actor that training starts from
        self.target_actor, self.target_critics = deepcopy(self.actor), deepcopy(self.critics)
        self.reference_actor = deepcopy(self.actor)
        for frozen in (self.target_actor, self.target_critics, self.reference_actor):
            frozen.requires_grad_(False)

        # Optimizers and the noise of target actions
        self.actor_optimizer = make_adam(self.actor.parameters(), config.lr)
        self.critic_optimizer = make_adam(self.critics.parameters(), config.critic_lr or config.lr)
        self.noise = torch.Generator().manual_seed(seed + 1)
        set_matmul_precision(config.precision, device)
        nets = self.actor, self.critics, self.target_actor, self.target_critics
        compile_modules(nets, config.compile)

    @torch.no_grad()
    def act(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Choose actions without noise, (B, A)."""
        normalizer, actor = self.acting_networks()
        state, goal = (normalizer(x.to(self.device)) for x in (state, goal))
        actions: NDArray[np.float32] = actor(state, goal).cpu().numpy()
        if not np.isfinite(actions).all():
            raise NotFiniteError("The actor outputs NaN. The last good checkpoint is kept.")
        return actions

    def acting_networks(self) -> tuple[nn.Module, nn.Module]:
        """The normalizer, and the actor that acts."""
        actor = self.target_actor if self.config.act_with == "target" else self.actor
        return self.normalizer, actor

    @torch.no_grad()
    def attention(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Weights of the actor's pooling query, (B, V, K): 0 for what is not visible."""
        if not isinstance(self.actor, EITActor):
            raise BadValueError(
                f"An actor of architecture '{self.net.arch}' does not pool its entities by "
                "attention. Only 'eit' does."
            )
        state, goal = state.to(self.device), goal.to(self.device)
        pooled = self.actor.attention(self.normalizer(state), self.normalizer(goal))  # (B, V*K)
        shown = pooled.view(state.visible.shape) * state.visible
        return np.asarray(shown.cpu().numpy(), np.float32)

    def update(self, batch: Batch) -> dict[str, Tensor]:
        """Learn from one batch; returns scalars to log."""
        batch = batch.to(self.device)
        if self.config.compile == "cuda-graphs":
            # Outputs of the last update are free
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        if self.config.precision != "bf16":
            return self._update(batch)
        with torch.autocast(self.device.type, torch.bfloat16):
            return self._update(batch)

    def _update(self, batch: Batch) -> dict[str, Tensor]:
        config = self.config
        actor_obs, critic_obs = self._normalized(batch)

        # Critic targets
        with torch.no_grad():
            noise = torch.randn(batch.action.shape, generator=self.noise) * config.target_noise
            noise = noise.clamp(-config.target_noise_clip, config.target_noise_clip)
            next_action = self.target_actor(actor_obs.next_state, actor_obs.goal)
            next_action = (next_action + noise.to(self.device)).clamp(-1, 1)
            next_q = self.target_critics(critic_obs.next_state, critic_obs.goal, next_action)
            target = td_target(batch, next_q.amin(0), config.q_min)  # minimum of the critics

        # Critic step
        q = self.critics(critic_obs.state, critic_obs.goal, batch.action)  # (C, B) or (C, B, N)
        errors = F.mse_loss(q, target.expand_as(q), reduction="none")
        critic_loss = mean_over_objects(errors, batch.present).mean(1).sum()
        self._optimizer_step(self.critic_optimizer, critic_loss, self.critics)
        q = mean_over_objects(q.detach(), batch.present)  # (C, B)
        log = {"critic_loss": critic_loss.detach(), "q_mean": q.mean()}

        # Delayed actor step and target networks
        self.updates += 1
        if self.updates % config.policy_delay == 0:
            if self.updates > config.critic_warmup_updates:
                log |= self._update_actor(actor_obs, critic_obs, batch, q[0])
            if config.target_update == "actor-step":
                self._update_targets()
        return log

    def _update_actor(
        self, actor_obs: GoalTransition, critic_obs: GoalTransition, batch: Batch, q: Tensor
    ) -> dict[str, Tensor]:
        """One actor step; `q` (B,) is the first critic's value of the batch's actions."""
        # Deterministic policy gradient through the first critic
        policy_action = self.actor(actor_obs.state, actor_obs.goal)
        policy_q = self._frozen_q(critic_obs, policy_action, count=1)[0]  # (B,) or (B, N)
        policy_q = mean_over_objects(policy_q, batch.present)  # (B,)
        loss = -policy_q.mean() + self.config.action_penalty * policy_action.square().mean()

        # Behavior cloning of the actor that training started from
        if self.config.bc_weight > 0:
            reference = self.reference_actor(actor_obs.state, actor_obs.goal)
            loss = loss + self.config.bc_weight * (policy_action - reference).square().mean()

        # Self-imitation of better actions. The critic has taken a step between the two values.
        if self.config.self_imitation_weight > 0:
            better = (q > policy_q.detach()).to(policy_action.dtype)  # (B,)
            distance = (policy_action - batch.action).square().mean(-1)
            loss = loss + self.config.self_imitation_weight * (better * distance).mean()
        self._optimizer_step(self.actor_optimizer, loss, self.actor)
        return {"actor_loss": loss.detach(), "action_abs": policy_action.detach().abs().mean()}

    def _frozen_q(
        self, critic_obs: GoalTransition, action: Tensor, count: int | None = None
    ) -> Tensor:
        """Values of actions by the first `count` critics, through which only actions get gradients.

        Returns:
            Values (C, B), or (C, B, N) per object.
        """
        frozen = {name: w[:count].detach() for name, w in self.critics.named_parameters()}
        inputs = (critic_obs.state, critic_obs.goal, action)
        values: Tensor = functional_call(self.critics, frozen, inputs)
        return values

    def predict(self, state: Entities, goal: Entities) -> tuple[Tensor, Tensor | None]:
        """Actions (B, A) and auxiliary predictions, if there are any; differentiable."""
        state, goal = self.normalizer(state), self.normalizer(goal)
        if isinstance(self.actor, EITActor):
            return self.actor.act_and_predict(state, goal)
        return self.actor(state, goal), None

    def step_actor(self, loss: Tensor) -> None:
        """Take one optimizer step of the actor alone, and count it as an update."""
        self._optimizer_step(self.actor_optimizer, loss, self.actor)
        self.updates += 1

    def observe(self, episodes: Episodes) -> None:
        """Update the normalizers with new states."""
        self.normalizer.update(_flat_states(episodes.actor))
        if episodes.critic is not None:
            self.critic_normalizer.update(_flat_states(episodes.critic))

    def set_lr_scale(self, scale: float) -> None:
        """Scale all step sizes."""
        config = self.config
        for optimizer, lr in (
            (self.actor_optimizer, config.lr),
            (self.critic_optimizer, config.critic_lr or config.lr),
        ):
            for group in optimizer.param_groups:
                group["lr"] = lr * scale

    def end_iteration(self) -> None:
        """Move the target networks, when they move once per iteration."""
        if self.config.target_update == "iteration":
            self._update_targets()

    def diagnose(self, batch: Batch) -> dict[str, Tensor]:
        """How sharp the critics' attention is, if they have any, on the batch's first sets."""
        first = batch.to(self.device).head(_DIAGNOSED)
        obs = self._normalized(first)[1]
        entropy = attention_entropy(
            self.critics, lambda: self.critics(obs.state, obs.goal, first.action)
        )
        return {} if entropy is None else {"critic_attention_entropy": entropy}

    def acting_tensors(self) -> dict[str, Tensor]:
        """The actor that acts, and the normalizer."""
        actor = self.acting_networks()[1].state_dict()
        return weights.net_tensors(self) | {f"actor.{name}": actor[name] for name in actor}

    def learning_tensors(self) -> dict[str, Tensor]:
        """Critics and target networks."""
        return weights.net_tensors(self, weights.critic_nets(self))

    def load_weights(self, tensors: dict[str, Tensor], grow: bool = False) -> None:
        """Load all networks that the tensors hold; with `grow`, new layers change nothing yet."""
        weights.load_weights(self, tensors, grow=grow)

    def load_critics(self, tensors: dict[str, Tensor]) -> None:
        """Load critics, their target networks and their normalizer; the actor stays as it is."""
        weights.load_weights(self, tensors, weights.critic_nets(self, actor=False))

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Networks, optimizers, noise and counters."""
        return weights.state_dict(self), {"updates": self.updates}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        weights.load_state_dict(self, tensors)
        self.updates = int(meta["updates"])

    def _normalized(self, batch: Batch) -> tuple[GoalTransition, GoalTransition]:
        """Normalized observations of the actor and of the critics."""
        actor_obs = GoalTransition(*map(self.normalizer, batch.actor))
        if batch.critic is batch.actor:
            return actor_obs, actor_obs
        return actor_obs, GoalTransition(*map(self.critic_normalizer, batch.critic))

    def _optimizer_step(
        self, optimizer: torch.optim.Optimizer, loss: Tensor, net: nn.Module
    ) -> None:
        # On other devices the check would wait for every update: there the log is checked
        if self.device == CPU and not torch.isfinite(loss):
            raise NotFiniteError(
                f"The loss is {loss.item()} after {self.updates} updates. The last good checkpoint "
                "is kept; look at q_mean, critic_loss and action_abs in metrics.jsonl."
            )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.config.max_grad_norm > 0:
            nn.utils.clip_grad_norm_(net.parameters(), self.config.max_grad_norm)
        optimizer.step()

    @torch.no_grad()
    def _update_targets(self) -> None:
        """Polyak averaging."""
        pairs = ((self.target_actor, self.actor), (self.target_critics, self.critics))
        for nets in pairs:
            old, new = (tuple(net.parameters()) for net in nets)
            torch._foreach_lerp_(old, new, self.config.tau)


def _flat_states(trajectory: Trajectory) -> Entities:
    """All steps but the last of all episodes as one batch of sets."""
    return trajectory.states.map(lambda x: x[:, :-1].reshape(-1, *x.shape[2:])).to_torch()
