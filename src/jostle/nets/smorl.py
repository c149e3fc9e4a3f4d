"""SMORL's network: attention from one sub-goal entity to the entities of the state."""

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities
from jostle.nets.attention import Attention
from jostle.nets.config import NetConfig
from jostle.nets.layers import MLP, Linear


class SmorlTrunk(nn.Module):
    """For each view: goal-conditioned attention, unconditional attention, and the goal itself."""

    def __init__(self, config: NetConfig, features: int, views: int, ensemble: int) -> None:
        """Read entities of `features` features from `views` views."""
        super().__init__()
        embed_dim, heads = config.embed_dim, config.heads
        self.embed_state = Linear(features, embed_dim, ensemble)
        self.embed_goal = Linear(features, embed_dim, ensemble)
        self.goal_attn = nn.ModuleList(Attention(embed_dim, heads, ensemble) for _ in range(views))
        self.free_attn = nn.ModuleList(Attention(embed_dim, heads, ensemble) for _ in range(views))
        self.queries = nn.Parameter(0.02 * torch.randn(ensemble, views, 1, embed_dim))

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Pool into (C, B, 3 * V * E); the goal is one entity per view."""
        tokens = self.embed_state(state.values[None])  # (C, B, V, K, E)
        goals = self.embed_goal(goal.values[None])  # (C, B, V, 1, E)
        parts = []
        for view, (goal_attn, free_attn) in enumerate(
            zip(self.goal_attn, self.free_attn, strict=True)
        ):
            visible, x, subgoal = state.visible[:, view], tokens[:, :, view], goals[:, :, view]
            query = self.queries[:, None, view].expand(-1, x.shape[1], -1, -1)  # (C, B, 1, E)
            parts += [goal_attn(subgoal, x, visible)[0], free_attn(query, x, visible)[0], subgoal]
        return torch.cat(parts, dim=-1)[:, :, 0]


class SmorlActor(nn.Module):
    """Entities and one sub-goal to an action."""

    def __init__(self, config: NetConfig, features: int, views: int, actions: int) -> None:
        """Choose `actions` numbers in [-1, 1]."""
        super().__init__()
        self.trunk = SmorlTrunk(config, features, views, ensemble=1)
        self.head = MLP((3 * views * config.embed_dim, *config.head_hidden, actions))

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Choose actions, (B, A)."""
        return torch.tanh(self.head(self.trunk(state, goal)))[0]


class SmorlCritic(nn.Module):
    """Entities, one sub-goal and an action to C independent values."""

    def __init__(
        self, config: NetConfig, features: int, views: int, actions: int, ensemble: int = 2
    ) -> None:
        """Evaluate actions of `actions` numbers with `ensemble` independent networks."""
        super().__init__()
        self.trunk = SmorlTrunk(config, features, views, ensemble)
        self.embed_action = MLP((actions, 256, config.embed_dim), ensemble)
        self.head = MLP(((3 * views + 1) * config.embed_dim, *config.head_hidden, 1), ensemble)

    def forward(self, state: Entities, goal: Entities, action: Tensor) -> Tensor:
        """Evaluate actions (B, A): values (C, B)."""
        token = self.embed_action(action[None])  # (C, B, E)
        pooled = torch.cat((self.trunk(state, goal), token), dim=-1)
        return self.head(pooled)[..., 0]
