"""TD3: two critics, a delayed actor, slow copies of all three. The update fits on one screen."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from jostle.agents.build import Shapes, make_actor, make_critics
from jostle.agents.config import TD3Config
from jostle.core.entities import Entities
from jostle.core.errors import BadValueError, NotFiniteError
from jostle.nets.bearings import PLACE
from jostle.nets.config import NetConfig
from jostle.nets.eit import EITActor
from jostle.nets.normalize import Normalizer
from jostle.particles.catalog import Model
from jostle.replay.sampler import Batch, Moments


class Past(NamedTuple):
    """What was done in the states of a batch, and what the first critic holds of it."""

    action: Tensor
    value: Tensor


class TD3Agent:
    """Acts with an actor, learns with twin critics; normalization is the first layer of all."""

    def __init__(
        self,
        net: NetConfig,
        config: TD3Config,
        shapes: Shapes,
        seed: int,
        judged: Shapes | None = None,
    ) -> None:
        """Build the networks from a seed of their own; critics see `judged` if that is given."""
        self.config, self.net, self.shapes = config, net, shapes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = make_actor(net, shapes)
            knowing = replace(net, ground=False) if judged else net
            self.critics = make_critics(knowing, judged or shapes)
        self.normalizer = _normalizer(net, shapes)
        self.critic_normalizer = _normalizer(knowing, judged) if judged else self.normalizer
        """The first layer of critics: the actor's, unless they see true state."""
        self.slow_actor, self.slow_critics = deepcopy(self.actor), deepcopy(self.critics)
        self.anchor = deepcopy(self.actor)
        for still in (self.slow_actor, self.slow_critics, self.anchor):
            still.requires_grad_(False)
        self.actor_optimizer = _adam(self.actor.parameters(), config.lr)
        self.critic_optimizer = _adam(self.critics.parameters(), config.critic_lr or config.lr)
        self.noise = torch.Generator().manual_seed(seed + 1)
        self.eyes: Model | None = None
        """What it sees with; nothing for an agent of true state."""
        self.cameras: tuple[str, ...] = ()
        """Through which cameras, in this order."""
        self.restless = 0.0
        """Deviation of the noise with which it shall be used."""
        self.updates = 0

    @torch.no_grad()
    def act(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Choose actions without noise, (B, A)."""
        actions: NDArray[np.float32] = self.actor(
            self.normalizer(state), self.normalizer(goal)
        ).numpy()
        if not np.isfinite(actions).all():
            raise NotFiniteError("The actor gives NaN. The last good checkpoint is kept.")
        return actions

    @torch.no_grad()
    def attention(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Weights of the actor's pooling query, (B, V, K): 0 for what is not visible."""
        if not isinstance(self.actor, EITActor):
            raise BadValueError(
                f"An actor of kind '{self.net.kind}' does not pool its entities by attention. "
                "Only 'eit' does."
            )
        pooled = self.actor.attention(self.normalizer(state), self.normalizer(goal))  # (B, V*K)
        weights: NDArray[np.float32] = (pooled.view(state.visible.shape) * state.visible).numpy()
        return weights

    def update(self, batch: Batch) -> dict[str, Tensor]:
        """Learn from one batch; returns what is worth logging."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.config.precision == "bf16"):
            return self._update(batch)

    def _update(self, batch: Batch) -> dict[str, Tensor]:
        config = self.config
        seen, judged = self._both_see(batch)

        with torch.no_grad():
            noise = torch.randn(batch.action.shape, generator=self.noise) * config.target_noise
            noise = noise.clamp(-config.target_clip, config.target_clip)
            next_action = (self.slow_actor(seen.next_state, seen.goal) + noise).clamp(-1, 1)
            next_values = self.slow_critics(judged.next_state, judged.goal, next_action)  # (C, B)
            target = aims(batch, next_values.amin(0), config.lowest_value)

        values = self.critics(judged.state, judged.goal, batch.action)  # (C, B)
        critic_loss = F.mse_loss(values, target.expand_as(values), reduction="none").mean(1).sum()
        self._descend(self.critic_optimizer, critic_loss, self.critics)
        log = {"critic_loss": critic_loss.detach(), "value": values.detach().mean()}

        self.updates += 1
        if self.updates % config.policy_delay == 0:
            if self.updates > config.actor_rests:
                log |= self._improve(seen, judged, Past(batch.action, values[0].detach()))
            if config.slow_copies == "actor-step":
                self._follow()
        return log

    def set_pace(self, share: float) -> None:
        """Scale all step sizes by `share`."""
        config = self.config
        for optimizer, lr in (
            (self.actor_optimizer, config.lr),
            (self.critic_optimizer, config.critic_lr or config.lr),
        ):
            for group in optimizer.param_groups:
                group["lr"] = lr * share

    def end_round(self) -> None:
        """Move the slow copies, when they move once per round."""
        if self.config.slow_copies == "round":
            self._follow()

    def _both_see(self, batch: Batch) -> tuple[Moments, Moments]:
        """What the actor and what the critics are shown of a batch."""
        moments = Moments(batch.state, batch.goal, batch.next_state)
        if batch.judged is None:
            both = Moments(*map(self.normalizer, moments))
            return both, both
        true = Moments(*map(self.critic_normalizer, batch.judged))
        return Moments(*map(self.normalizer, moments)), true

    def _improve(self, seen: Moments, judged: Moments, past: Past) -> dict[str, Tensor]:
        """Let the actor climb the first critic, and take over what was done better in the past."""
        action = self.actor(seen.state, seen.goal)
        first = {name: w[:1].detach() for name, w in self.critics.named_parameters()}
        value = functional_call(self.critics, first, (judged.state, judged.goal, action))[0]
        penalty = action.square().mean()
        loss = -value.mean() + self.config.action_penalty * penalty
        if self.config.anchor > 0:
            away = (action - self.anchor(seen.state, seen.goal)).square().mean()
            loss = loss + self.config.anchor * away
        if self.config.imitate_self > 0:
            better = (past.value > value.detach()).to(action.dtype)  # (B,)
            apart = (action - past.action).square().mean(-1)
            loss = loss + self.config.imitate_self * (better * apart).mean()
        self._descend(self.actor_optimizer, loss, self.actor)
        return {"actor_loss": loss.detach(), "action_size": action.detach().abs().mean()}

    def _descend(self, optimizer: torch.optim.Optimizer, loss: Tensor, net: nn.Module) -> None:
        if not torch.isfinite(loss):
            raise NotFiniteError(
                f"The loss is {loss.item()} after {self.updates} updates. The last good checkpoint "
                "is kept; look at value, critic_loss and action_size in metrics.jsonl."
            )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.config.clip_gradient > 0:
            nn.utils.clip_grad_norm_(net.parameters(), self.config.clip_gradient)
        optimizer.step()

    @torch.no_grad()
    def _follow(self) -> None:
        for slow, fast in ((self.slow_actor, self.actor), (self.slow_critics, self.critics)):
            torch._foreach_lerp_(list(slow.parameters()), list(fast.parameters()), self.config.tau)


def aims(batch: Batch, next_values: Tensor, lowest: float) -> Tensor:
    """What critics shall say of a batch, (B,), by what they say of its next states.

    Where the batch tells what staying is worth, both are gains over that: the value is the sum.
    """
    if batch.staying is None:
        return (batch.reward + batch.discount * next_values).clamp(lowest, 0)
    values = batch.reward + batch.discount * (batch.staying.later + next_values)
    return values.clamp(lowest, 0) - batch.staying.now


def _normalizer(net: NetConfig, shapes: Shapes) -> Normalizer:
    codes = 0 if net.normalize_codes else shapes.codes
    return Normalizer(shapes.features, plain=PLACE if net.ground else codes)


def _adam(parameters: Iterable[nn.Parameter], lr: float) -> torch.optim.Adam:
    return torch.optim.Adam(list(parameters), lr=lr, fused=True)
