"""The unstructured baseline: everything in one row, no sets, a fixed number of entities."""

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities
from jostle.nets.config import NetConfig
from jostle.nets.layers import MLP


def flat(state: Entities, goal: Entities) -> Tensor:
    """Concatenate state and goal sets, (1, B, all features)."""
    return torch.cat((state.values.flatten(1), goal.values.flatten(1)), dim=-1)[None]


class MLPActor(nn.Module):
    """A row of numbers to an action."""

    def __init__(self, config: NetConfig, inputs: int, actions: int) -> None:
        """Choose `actions` numbers in [-1, 1] from `inputs`."""
        super().__init__()
        self.head = MLP((inputs, *config.head_hidden, actions))

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Choose actions, (B, A)."""
        return torch.tanh(self.head(flat(state, goal)))[0]


class MLPCritic(nn.Module):
    """A row of numbers and an action to C independent values."""

    def __init__(
        self, config: NetConfig, inputs: int, action_width: int, actions: int, copies: int = 2
    ) -> None:
        """Judge actions; the action is first spread to `action_width` features."""
        super().__init__()
        self.embed_action = MLP((actions, 256, action_width), copies)
        self.head = MLP((inputs + action_width, *config.head_hidden, 1), copies)

    def forward(self, state: Entities, goal: Entities, action: Tensor) -> Tensor:
        """Judge (B, A) actions: values (C, B)."""
        token = self.embed_action(action[None])  # (C, B, f)
        row = flat(state, goal).expand(token.shape[0], -1, -1)
        return self.head(torch.cat((row, token), dim=-1))[..., 0]
