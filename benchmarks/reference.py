"""The same mathematics as the preset `paper`, written the plain way: the yardstick for speed.

Separate critics, `nn.Linear`, `scaled_dot_product_attention`, default Adam, a loop over parameters
for the slow copies.
"""

from copy import deepcopy
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.agents.config import TD3Config
from jostle.replay.sampler import Batch

WIDTH, HEADS, HIDDEN, HEAD_HIDDEN = 64, 8, (256, 256), (256, 256, 256)


def mlp(*widths: int) -> nn.Sequential:
    """Linear maps with ReLU between them."""
    layers: list[nn.Module] = []
    for one, two in pairwise(widths):
        layers += [nn.Linear(one, two), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Block(nn.Module):
    """Pre-LN attention and MLP."""

    def __init__(self) -> None:
        """Build with the paper's widths."""
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.maps = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.mlp = mlp(WIDTH, *HIDDEN, WIDTH)

    def forward(self, x: Tensor, context: Tensor | None, visible: Tensor) -> Tensor:
        """Update x (B, Q, E) from a context (B, S, E), or from itself."""
        normed = self.norms[0](x)
        source = normed if context is None else self.norms[1](context)
        parts = (self.maps[0](normed), self.maps[1](source), self.maps[2](source))
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=visible[:, None, None])
        x = x + self.maps[3](mixed.transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norms[2](x))


class Trunk(nn.Module):
    """Self, cross, self, pool."""

    def __init__(self, features: int) -> None:
        """Read entities of `features` features."""
        super().__init__()
        self.state, self.goal = nn.Linear(features, WIDTH), nn.Linear(features, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(4))
        self.query = nn.Parameter(0.02 * torch.randn(1, 1, WIDTH))
        self.norm, self.project = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, batch: tuple[Tensor, Tensor, Tensor, Tensor], extra: Tensor | None) -> Tensor:
        """Pool (state, seen, goal, goal seen) and an extra token."""
        state, seen, goal, goal_seen = batch
        x, goals = self.state(state), self.goal(goal)
        if extra is not None:
            x = torch.cat((extra, x), dim=1)
            seen = torch.cat((seen.new_ones(len(seen), 1), seen), dim=1)
        x = self.blocks[0](x, None, seen)
        x = self.blocks[1](x, goals, goal_seen)
        x = self.blocks[2](x, None, seen)
        query = self.query.expand(len(x), -1, -1)
        if extra is not None:
            query = torch.cat((query, x[:, :1]), dim=1)
        return self.project(self.norm(self.blocks[3](query, x, seen))).flatten(1)


class Actor(nn.Module):
    """Entities to an action."""

    def __init__(self, features: int) -> None:
        """Choose three numbers."""
        super().__init__()
        self.trunk, self.head = Trunk(features), mlp(WIDTH, *HEAD_HIDDEN, 3)

    def forward(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
        """Choose actions, (B, 3)."""
        return torch.tanh(self.head(self.trunk(batch, None)))


class Critic(nn.Module):
    """Entities and an action to a value."""

    def __init__(self, features: int) -> None:
        """See the action as one more entity."""
        super().__init__()
        self.trunk, self.action = Trunk(features), mlp(3, 256, WIDTH)
        self.head = mlp(2 * WIDTH, *HEAD_HIDDEN, 1)

    def forward(self, batch: tuple[Tensor, Tensor, Tensor, Tensor], action: Tensor) -> Tensor:
        """Judge actions, (B,)."""
        return self.head(self.trunk(batch, self.action(action)[:, None]))[:, 0]


class PlainTD3:
    """TD3 as one would write it first."""

    def __init__(self, features: int, config: TD3Config) -> None:
        """Build an actor, two critics and slow copies of all."""
        self.config, self.updates = config, 0
        self.actor, self.critics = Actor(features), [Critic(features) for _ in range(2)]
        self.slow_actor, self.slow_critics = deepcopy(self.actor), deepcopy(self.critics)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), config.lr)
        self.critic_adams = [torch.optim.Adam(c.parameters(), config.lr) for c in self.critics]

    def update(self, batch: Batch) -> None:
        """Learn from one batch."""
        config = self.config
        goal, goal_seen = batch.goal.values[:, 0], batch.goal.visible[:, 0]
        now = (batch.state.values[:, 0], batch.state.visible[:, 0], goal, goal_seen)
        then = (batch.next_state.values[:, 0], batch.next_state.visible[:, 0], goal, goal_seen)
        with torch.no_grad():
            noise = torch.randn_like(batch.action) * config.target_noise
            noise = noise.clamp(-config.target_clip, config.target_clip)
            action = (self.slow_actor(then) + noise).clamp(-1, 1)
            values = torch.min(*(critic(then, action) for critic in self.slow_critics))
            target = (batch.reward + config.gamma * values).clamp(config.lowest_value, 0)
        for critic, adam in zip(self.critics, self.critic_adams, strict=True):
            loss = F.mse_loss(critic(now, batch.action), target)
            adam.zero_grad()
            loss.backward()
            adam.step()
        self.updates += 1
        if self.updates % config.policy_delay == 0:
            action = self.actor(now)
            loss = -self.critics[0](now, action).mean()
            loss = loss + config.action_penalty * action.square().mean()
            self.actor_adam.zero_grad()
            loss.backward()
            self.actor_adam.step()
            for slow, fast in zip(
                (self.slow_actor, *self.slow_critics), (self.actor, *self.critics), strict=True
            ):
                for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
                    old.data.mul_(1 - config.tau).add_(config.tau * new.data)
