"""The reference for speed: the same mathematics as `--size paper`, in plain PyTorch.

Separate critics, `nn.Linear`, `scaled_dot_product_attention`, default Adam, and a loop over
parameters for the target networks.
"""

from copy import deepcopy
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.agents.config import TD3Config
from jostle.core.entities import Entities
from jostle.replay.batch import Batch

EMBED_DIM, HEADS, HIDDEN, HEAD_HIDDEN = 64, 8, (256, 256), (256, 256, 256)


def mlp(*sizes: int) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Block(nn.Module):
    """Pre-LN attention and MLP."""

    def __init__(self) -> None:
        """Build with the paper's sizes."""
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(EMBED_DIM) for _ in range(3))
        self.maps = nn.ModuleList(nn.Linear(EMBED_DIM, EMBED_DIM, bias=False) for _ in range(4))
        self.mlp = mlp(EMBED_DIM, *HIDDEN, EMBED_DIM)

    def forward(self, x: Tensor, context: Tensor | None, visible: Tensor) -> Tensor:
        """Update x (B, Q, E) from a context (B, S, E), or from itself."""
        query = self.norms[0](x)
        source = query if context is None else self.norms[1](context)
        parts = (self.maps[0](query), self.maps[1](source), self.maps[2](source))
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=visible[:, None, None])
        x = x + self.maps[3](mixed.transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norms[2](x))


class Trunk(nn.Module):
    """Self-attention, cross-attention, self-attention, pooling."""

    def __init__(self, features: int, views: int) -> None:
        """Read entities of `features` features from `views` views."""
        super().__init__()
        self.state, self.goal = nn.Linear(features, EMBED_DIM), nn.Linear(features, EMBED_DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(4))
        self.views = nn.Parameter(0.02 * torch.randn(views, 1, EMBED_DIM)) if views > 1 else None
        self.query = nn.Parameter(0.02 * torch.randn(1, 1, EMBED_DIM))
        self.norm, self.project = nn.LayerNorm(EMBED_DIM), nn.Linear(EMBED_DIM, EMBED_DIM)

    def forward(self, state: Entities, goal: Entities, action: Tensor | None) -> Tensor:
        """Pool entities and goals of all views, and an action token (B, 1, E)."""
        x, visible = self.embed(self.state, state)
        goals, goals_visible = self.embed(self.goal, goal)
        if action is not None:
            x = torch.cat((action, x), dim=1)
            visible = torch.cat((visible.new_ones(len(visible), 1), visible), dim=1)
        x = self.blocks[0](x, None, visible)
        x = self.blocks[1](x, goals, goals_visible)
        x = self.blocks[2](x, None, visible)
        query = self.query.expand(len(x), -1, -1)
        if action is not None:
            query = torch.cat((query, x[:, :1]), dim=1)
        return self.project(self.norm(self.blocks[3](query, x, visible))).flatten(1)

    def embed(self, embedding: nn.Linear, entities: Entities) -> tuple[Tensor, Tensor]:
        """Tokens (B, V*K, E) of all views, and which are visible."""
        x = embedding(entities.values)  # (B, V, K, E)
        if self.views is not None:
            x = x + self.views
        return x.flatten(1, 2), entities.visible.flatten(1, 2)


class Actor(nn.Module):
    """Entities to an action."""

    def __init__(self, features: int, views: int) -> None:
        """Choose three numbers."""
        super().__init__()
        self.trunk, self.head = Trunk(features, views), mlp(EMBED_DIM, *HEAD_HIDDEN, 3)

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Choose actions, (B, 3)."""
        return torch.tanh(self.head(self.trunk(state, goal, None)))


class Critic(nn.Module):
    """Entities and an action to a value."""

    def __init__(self, features: int, views: int) -> None:
        """Get the action as one more entity."""
        super().__init__()
        self.trunk, self.action = Trunk(features, views), mlp(3, 256, EMBED_DIM)
        self.head = mlp(2 * EMBED_DIM, *HEAD_HIDDEN, 1)

    def forward(self, state: Entities, goal: Entities, action: Tensor) -> Tensor:
        """Evaluate actions, (B,)."""
        return self.head(self.trunk(state, goal, self.action(action)[:, None]))[:, 0]


class PlainTD3:
    """TD3 without any optimization for speed."""

    def __init__(self, features: int, config: TD3Config, views: int = 1) -> None:
        """Build an actor, two critics and target networks of all."""
        self.config, self.updates = config, 0
        self.actor = Actor(features, views)
        self.critics = [Critic(features, views) for _ in range(2)]
        self.target_actor, self.target_critics = deepcopy(self.actor), deepcopy(self.critics)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), config.lr)
        self.critic_optimizers = [
            torch.optim.Adam(critic.parameters(), config.lr) for critic in self.critics
        ]

    def update(self, batch: Batch) -> None:
        """Learn from one batch."""
        config = self.config
        state, goal, next_state = batch.actor

        # Critic targets
        with torch.no_grad():
            noise = torch.randn_like(batch.action) * config.target_noise
            noise = noise.clamp(-config.target_noise_clip, config.target_noise_clip)
            action = (self.target_actor(next_state, goal) + noise).clamp(-1, 1)
            q = torch.min(*(critic(next_state, goal, action) for critic in self.target_critics))
            target = (batch.reward + config.gamma * q).clamp(config.q_min, 0)

        # Critic steps
        for critic, optimizer in zip(self.critics, self.critic_optimizers, strict=True):
            loss = F.mse_loss(critic(state, goal, batch.action), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        # Delayed actor step and target networks
        self.updates += 1
        if self.updates % config.policy_delay == 0:
            action = self.actor(state, goal)
            loss = -self.critics[0](state, goal, action).mean()
            loss = loss + config.action_penalty * action.square().mean()
            self.actor_optimizer.zero_grad()
            loss.backward()
            self.actor_optimizer.step()
            self._update_targets()

    def _update_targets(self) -> None:
        """Polyak averaging."""
        targets, sources = (self.target_actor, *self.target_critics), (self.actor, *self.critics)
        for target, source in zip(targets, sources, strict=True):
            for old, new in zip(target.parameters(), source.parameters(), strict=True):
                old.data.mul_(1 - self.config.tau).add_(self.config.tau * new.data)
