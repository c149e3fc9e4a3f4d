"""The unstructured baseline: all features as one vector, for a fixed number of entities."""

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities
from jostle.nets.config import NetConfig
from jostle.nets.layers import MLP


def concatenated(state: Entities, goal: Entities) -> Tensor:
    """All features of state and goal, (1, B, all features)."""
    return torch.cat((state.values.flatten(1), goal.values.flatten(1)), dim=-1)[None]


class MLPActor(nn.Module):
    """A vector of all features to an action."""

    def __init__(self, config: NetConfig, inputs: int, actions: int) -> None:
        """Choose `actions` numbers in [-1, 1] from `inputs`."""
        super().__init__()
        self.head = MLP((inputs, *config.head_hidden, actions))

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Choose actions, (B, A)."""
        return torch.tanh(self.head(concatenated(state, goal)))[0]


class MLPCritic(nn.Module):
    """A vector of all features and an action to C independent values."""

    def __init__(
        self, config: NetConfig, inputs: int, action_dim: int, actions: int, ensemble: int = 2
    ) -> None:
        """Evaluate actions, which are embedded into `action_dim` features first."""
        super().__init__()
        self.embed_action = MLP((actions, 256, action_dim), ensemble)
        self.head = MLP((inputs + action_dim, *config.head_hidden, 1), ensemble)

    def forward(self, state: Entities, goal: Entities, action: Tensor) -> Tensor:
        """Evaluate actions (B, A): values (C, B)."""
        embedded = self.embed_action(action[None])  # (C, B, f)
        features = concatenated(state, goal).expand(embedded.shape[0], -1, -1)
        return self.head(torch.cat((features, embedded), dim=-1))[..., 0]
