"""SMORL's attention network: one sub-goal entity asks, the state entities answer."""

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities
from jostle.nets.attention import Attention
from jostle.nets.config import NetConfig
from jostle.nets.layers import MLP, Linear


class SmorlTrunk(nn.Module):
    """Goal-conditioned and unconditional attention per view, and the goal itself."""

    def __init__(self, config: NetConfig, features: int, views: int, copies: int) -> None:
        """Read entities of `features` features from `views` views."""
        super().__init__()
        width, heads = config.width, config.heads
        self.embed_state = Linear(features, width, copies)
        self.embed_goal = Linear(features, width, copies)
        self.asked = nn.ModuleList(Attention(width, heads, copies) for _ in range(views))
        self.unasked = nn.ModuleList(Attention(width, heads, copies) for _ in range(views))
        self.queries = nn.Parameter(0.02 * torch.randn(copies, views, 1, width))

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Gather (C, B, 3 * V * E); the goal is one entity per view."""
        tokens = self.embed_state(state.values[None])  # (C, B, V, K, E)
        wanted = self.embed_goal(goal.values[None])  # (C, B, V, 1, E)
        parts = []
        for view, (asked, unasked) in enumerate(zip(self.asked, self.unasked, strict=True)):
            seen, x, query = state.visible[:, view], tokens[:, :, view], wanted[:, :, view]
            free = self.queries[:, None, view].expand(-1, x.shape[1], -1, -1)
            parts += [asked(query, x, seen)[0], unasked(free, x, seen)[0], query]
        return torch.cat(parts, dim=-1)[:, :, 0]


class SmorlActor(nn.Module):
    """One sub-goal at a time to an action."""

    def __init__(self, config: NetConfig, features: int, views: int, actions: int) -> None:
        """Choose `actions` numbers in [-1, 1]."""
        super().__init__()
        self.trunk = SmorlTrunk(config, features, views, copies=1)
        self.head = MLP((3 * views * config.width, *config.head_hidden, actions))

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Choose actions, (B, A)."""
        return torch.tanh(self.head(self.trunk(state, goal)))[0]


class SmorlCritic(nn.Module):
    """One sub-goal and an action to C independent values."""

    def __init__(
        self, config: NetConfig, features: int, views: int, actions: int, copies: int = 2
    ) -> None:
        """Judge actions of `actions` numbers with `copies` independent networks."""
        super().__init__()
        self.trunk = SmorlTrunk(config, features, views, copies)
        self.embed_action = MLP((actions, 256, config.width), copies)
        self.head = MLP(((3 * views + 1) * config.width, *config.head_hidden, 1), copies)

    def forward(self, state: Entities, goal: Entities, action: Tensor) -> Tensor:
        """Judge (B, A) actions: values (C, B)."""
        token = self.embed_action(action[None])  # (C, B, E)
        gathered = torch.cat((self.trunk(state, goal), token), dim=-1)
        return self.head(gathered)[..., 0]
