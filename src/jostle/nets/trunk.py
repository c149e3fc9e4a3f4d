"""The body of the Entity Interaction Transformer, which actor and critics share.

Entities and goals are embedded. Entities attend to each other, to the goals, and to each other
again. A learned query pools them.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from jostle.core.entities import POSITION, TABLE_XY, Entities, EntityLayout
from jostle.nets import kernels
from jostle.nets.attention import Block
from jostle.nets.config import NetConfig
from jostle.nets.kernels.packing import in_buckets
from jostle.nets.layers import MLP, LayerNorm, Linear
from jostle.nets.relative_positions import (
    FourierPositions,
    Relative,
    RelativePositions,
    rel_pos_dim,
)
from jostle.nets.token_set import TokenSet

Pooling = Literal["learned", "goals", "none"]
"""What pools the entities of a state, if anything: a learned query, or every entity of the goal."""


class Embedding(Linear):
    """Embedding of an entity: linear, plus an MLP if the network has one."""

    def __init__(self, features: int, config: NetConfig, ensemble: int) -> None:
        """Map `features` to the embedding."""
        super().__init__(features, config.embed_dim, ensemble)
        hidden = config.embed_mlp
        self.embed_mlp = MLP((features, *hidden, config.embed_dim), ensemble) if hidden else None

    def forward(self, x: Tensor) -> Tensor:
        """Map (1, ..., features) to (C, ..., E)."""
        linear = super().forward(x)
        return linear if self.embed_mlp is None else linear + self.embed_mlp(x)


class Trunk(nn.Module):
    """The part that actor and critics have in common: from entities to pooled features."""

    def __init__(
        self,
        config: NetConfig,
        layout: EntityLayout,
        views: int,
        ensemble: int,
        pooling: Pooling = "learned",
    ) -> None:
        """Read entities with these columns from `views` views."""
        super().__init__()
        embed_dim = config.embed_dim
        self.goal_conditioning = config.goal_conditioning

        # Relative positions
        self.bands = config.relative_positions
        self.position = layout[POSITION] if self.bands else None
        self.table_xy = layout[TABLE_XY] if config.table_xy else None
        rel_dim = rel_pos_dim(self.bands) * (1 + config.table_xy) if self.bands else 0

        # Embeddings
        self.embed_state = Embedding(layout.width, config, ensemble)
        self.embed_goal = Embedding(layout.width, config, ensemble)
        self.view_embeddings = (
            nn.Parameter(0.02 * torch.randn(ensemble, views, embed_dim)) if views > 1 else None
        )

        # Self-, cross-, self-attention, repeated
        self.blocks = nn.ModuleList(
            Block(config, cross, ensemble, rel_dim)
            for cross in (False, True, False) * config.num_layers
        )

        # Pooling
        if pooling == "learned":
            self.pool = Block(config, True, ensemble)
            self.query = nn.Parameter(0.02 * torch.randn(ensemble, 1, embed_dim))
        elif pooling == "goals":
            self.pool = Block(config, True, ensemble, rel_dim)
        self.norm = LayerNorm(embed_dim, ensemble)
        self.project = Linear(embed_dim, embed_dim, ensemble)
        if config.tied_qk_init > 0:
            matching = [*self.blocks, *([self.pool] if pooling == "goals" else [])]
            self._tie_queries_and_keys(matching, config.tied_qk_init)

    @torch.no_grad()
    def _tie_queries_and_keys(self, blocks: list[nn.Module], sharpness: float) -> None:
        """Start with attention between entities and goals that are alike, such as equal ids."""
        self.embed_goal.load_state_dict(self.embed_state.state_dict())
        for block in blocks:
            if isinstance(block, Block) and block.norm_context is not None:
                block.attention.query.weight.mul_(sharpness)
                block.attention.key.weight.copy_(block.attention.query.weight)

    def forward(
        self,
        state: Entities,
        goal: Entities,
        action_token: Tensor | None = None,
        action_position: Tensor | None = None,
    ) -> Tensor:
        """Pool state, goal and, in a critic, an action token (C, B, 1, E), perhaps at a position.

        Returns:
            Features (C, B, E), or (C, B, 2E) with an action token.
        """
        inputs = TokenSet.of(state), TokenSet.of(goal), action_token, action_position
        if kernels.enabled(state.values):
            return in_buckets(lambda *bucket: self.pooled(*bucket)[0], *inputs)
        return self.pooled(*inputs)[0]

    def pooled(
        self,
        state: TokenSet,
        goal: TokenSet,
        action_token: Tensor | None = None,
        action_position: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Pool sets of tokens into features; also the weights (C, B, h, Q, T) of the pooling.

        Some kernels have no weights.
        """
        x, visible = self.tokens(state, goal, action_token, action_position)

        # Pooling by a learned query and, in a critic, by the action token
        query = self.query[:, None].expand(-1, x.shape[1], -1, -1)  # (C, B, 1, E)
        if action_token is not None:
            query = torch.cat((query, x[:, :, :1]), dim=2)  # (C, B, 2, E)
        pooled, weights = self.pool(query, x, visible)
        return self.project(self.norm(pooled)).flatten(2), weights

    def at_goals(
        self, state: TokenSet, goal: TokenSet, action_token: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Features (C, B, 1 + G, E) pooled by the action token and by every goal entity.

        Also the weights (C, B, h, 1 + G, 1 + S) of the pooling; some kernels have none.
        """
        x, visible = self.tokens(state, goal, action_token)
        query = torch.cat((x[:, :, :1], self.embed(goal, self.embed_goal)), dim=2)
        pooled, weights = self.pool(query, x, visible, self._around_goals(state, goal))
        return self.project(self.norm(pooled)), weights

    def tokens(
        self,
        state: TokenSet,
        goal: TokenSet,
        action_token: Tensor | None = None,
        action_position: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Tokens (C, B, S, E) after all blocks, which are visible (B, S); the action is first."""
        # Embed
        x, visible = self.embed(state, self.embed_state), state.visible  # (C, B, S, E), (B, S)
        goals = self.embed(goal, self.embed_goal)  # (C, B, G, E)
        to_state, to_goal = self.relative_positions(
            state, goal, action_token is not None, action_position
        )
        if action_token is not None:
            x = torch.cat((action_token, x), dim=2)  # (C, B, 1 + S, E)
            visible = torch.cat((visible.new_ones(visible.shape[0], 1), visible), dim=1)

        # Self-attention, cross-attention to the goals, self-attention
        for block in self.blocks:
            if block.norm_context is None:
                x, _ = block(x, None, visible, to_state)
            elif self.goal_conditioning:
                x, _ = block(x, goals, goal.visible, to_goal)
        return x, visible

    def embed(self, tokens: TokenSet, embedding: Embedding) -> Tensor:
        """Embed entities, and mark them with their view: (C, B, T, E)."""
        x = embedding(tokens.values[None])
        if self.view_embeddings is not None:
            x = x + self.view_embeddings[:, tokens.view]
        return x

    def relative_positions(
        self, state: TokenSet, goal: TokenSet, action_token: bool, action_position: Tensor | None
    ) -> tuple[Relative, Relative]:
        """Positions of entities, and of goals, relative to entities; an action token is first."""
        if self.position is None:
            return (), ()
        state_xy, goal_xy = state.values[..., self.position], goal.values[..., self.position]

        # True state, and an action token with a position
        if action_position is not None:
            positions = torch.cat((action_position, state_xy), dim=1)
            queries = FourierPositions.of(positions, self.bands, num_smooth=1)
            goals = FourierPositions.of(goal_xy, self.bands)
            return (RelativePositions(queries, queries),), (RelativePositions(queries, goals),)

        # In the image: only entities of the same view can be compared
        between, bands = RelativePositions.between, self.bands
        to_state = [between(state_xy, state_xy, bands, _same_view(state, state))]
        to_goal = [between(state_xy, goal_xy, bands, _same_view(state, goal))]

        # On the table: all can
        if self.table_xy is not None:
            state_xy, goal_xy = state.values[..., self.table_xy], goal.values[..., self.table_xy]
            to_state.append(between(state_xy, state_xy, bands))
            to_goal.append(between(state_xy, goal_xy, bands))
        if action_token:
            to_state = [kind.with_unplaced_token(in_context=True) for kind in to_state]
            to_goal = [kind.with_unplaced_token(in_context=False) for kind in to_goal]
        return tuple(to_state), tuple(to_goal)

    def _around_goals(self, state: TokenSet, goal: TokenSet) -> Relative:
        """Positions of entities relative to goals; an action token is first in both."""
        if self.position is None:
            return ()
        columns = [(self.position, _same_view(goal, state))]
        if self.table_xy is not None:
            columns.append((self.table_xy, None))
        return tuple(
            RelativePositions.between(
                goal.values[..., xy], state.values[..., xy], self.bands, mask
            ).with_unplaced_token(in_context=True)
            for xy, mask in columns
        )


def _same_view(query: TokenSet, context: TokenSet) -> Tensor | None:
    """1 where two entities are of the same view, (B, Q, S); None with a single view."""
    if query.view is None or context.view is None:
        return None
    return (query.view[:, :, None] == context.view[:, None]).to(query.values.dtype)
