"""The Entity Interaction Transformer: an actor and critics for sets of entities and goals.

An MLP maps the features that the trunk pools to an action or a value. The result does not depend on
the order of the entities, and their number may vary.
"""

from functools import partial

import torch
from torch import Tensor, nn

from jostle.core.entities import FEATURES, OBJECT_ID, POSITION, Entities, EntityLayout
from jostle.core.errors import require
from jostle.nets import kernels
from jostle.nets.config import NetConfig
from jostle.nets.kernels.packing import in_buckets
from jostle.nets.layers import MLP
from jostle.nets.relative_positions import XY
from jostle.nets.token_set import TokenSet
from jostle.nets.trunk import Pooling, Trunk

_AUX_HIDDEN = 128
"""Hidden layer of the auxiliary head."""


class EITActor(nn.Module):
    """Entities and goals to an action."""

    def __init__(self, config: NetConfig, layout: EntityLayout, views: int, actions: int) -> None:
        """Choose `actions` numbers in [-1, 1]."""
        super().__init__()
        embed_dim, targets = config.embed_dim, config.aux_targets
        self.trunk = Trunk(config, layout, views, ensemble=1)
        self.head = MLP((embed_dim, *config.head_hidden, actions))
        self.aux_head = MLP((embed_dim, _AUX_HIDDEN, targets)) if targets else None

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Choose actions, (B, A)."""
        return torch.tanh(self.head(self.trunk(state, goal)))[0]

    def act_and_predict(self, state: Entities, goal: Entities) -> tuple[Tensor, Tensor | None]:
        """Choose actions, and predict the auxiliary targets (B, N), if there are any."""
        pooled = self.trunk(state, goal)
        predicted = None if self.aux_head is None else self.aux_head(pooled)[0]
        return torch.tanh(self.head(pooled))[0], predicted

    def attention(self, state: Entities, goal: Entities) -> Tensor:
        """Weights of the pooling query over the entities, (B, V*K), averaged over heads."""
        with kernels.use_kernels(False):
            _, weights = self.trunk.pooled(TokenSet.of(state), TokenSet.of(goal))
        assert weights is not None
        return weights[0, :, :, 0].mean(1)


class EITCritic(nn.Module):
    """Entities, goals and an action to C independent values: of the set, or of its parts.

    The parts of true state are objects; those of particles are the particles of the goal, which
    stay the same in a transition, while particles of a state have no order from step to step.
    """

    def __init__(
        self, config: NetConfig, layout: EntityLayout, views: int, actions: int, ensemble: int = 2
    ) -> None:
        """Evaluate actions of `actions` numbers with `ensemble` independent networks."""
        super().__init__()
        self.per_entity = config.values == "per-entity"
        self.of_goals = self.per_entity and POSITION in layout and FEATURES in layout
        require(
            not self.per_entity or self.of_goals or (views == 1 and OBJECT_ID in layout),
            "values 'per-entity' need entities that are objects of true state, or particles of "
            "images. Use --values pooled, or --method td3-privileged.",
        )
        pooling: Pooling = "none" if self.per_entity else "learned"
        self.trunk = Trunk(config, layout, views, ensemble, "goals" if self.of_goals else pooling)
        self.action_entity = config.action_entity
        require(
            not config.action_token_position or views == 1,
            f"action_token_position is for true state, which has one view only, not {views}.",
        )
        self.position = layout[POSITION] if config.action_token_position else None
        self.embed_action = MLP((actions, 256, config.embed_dim), ensemble)
        self.head = MLP((2 * config.embed_dim, *config.head_hidden, 1), ensemble)

    def forward(self, state: Entities, goal: Entities, action: Tensor) -> Tensor:
        """Evaluate actions (B, A): values (C, B), or (C, B, N) of the objects, 0 for padding.

        Goal particles count through all views, as objects do: N is V * K.
        """
        token = self.embed_action(action[None, :, None])  # (C, B, 1, E)
        if self.per_entity:
            position = self._next_gripper_xy(state, action)
            inputs = TokenSet.of(state), TokenSet.of(goal), token, position
            read = partial(self._of_objects, state.shape[1] - 1)
            if self.of_goals:
                read = partial(self._of_goals, inputs[1].values.shape[1])
            return in_buckets(read, *inputs) if kernels.enabled(state.values) else read(*inputs)
        if self.action_entity:
            position = self._next_gripper_xy(state, action)
            pooled = self.trunk(state, goal, token, position)  # (C, B, 2E)
        else:
            pooled = torch.cat((self.trunk(state, goal), token[:, :, 0]), dim=-1)  # (C, B, 2E)
        return self.head(pooled)[..., 0]

    def _of_objects(
        self,
        count: int,
        state: TokenSet,
        goal: TokenSet,
        action_token: Tensor,
        action_position: Tensor | None,
    ) -> Tensor:
        """Values (C, B, count), each read at an object's token and at the action's."""
        tokens, _ = self.trunk.tokens(state, goal, action_token, action_position)
        tokens = self.trunk.project(self.trunk.norm(tokens))  # (C, B, 2 + S, E)
        objects = tokens[:, :, 2:]  # after the action and the gripper
        return _in_order(self._values(objects, tokens[:, :, :1]), state, count, first=1)

    def _of_goals(
        self,
        count: int,
        state: TokenSet,
        goal: TokenSet,
        action_token: Tensor,
        action_position: Tensor | None,
    ) -> Tensor:
        """Values (C, B, count), each read by a goal particle and by the action's token."""
        del action_position
        tokens, _ = self.trunk.at_goals(state, goal, action_token)
        return _in_order(self._values(tokens[:, :, 1:], tokens[:, :, :1]), goal, count)

    def _values(self, tokens: Tensor, action: Tensor) -> Tensor:
        """Values (C, B, N) of tokens (C, B, N, E), each beside the action's (C, B, 1, E)."""
        values: Tensor = self.head(torch.cat((tokens, action.expand_as(tokens)), dim=-1))[..., 0]
        return values

    def _next_gripper_xy(self, state: Entities, action: Tensor) -> Tensor | None:
        """About where the gripper, the first entity of true state, is after an action, (B, 1, 2).

        A full action moves it by about one standard deviation of the normalized positions.
        """
        if self.position is None:
            return None
        return state.values[:, 0, :1, self.position] + action[:, None, :XY]


class EITValue(nn.Module):
    """Entities and goals to a value of the set, or one of every object: a critic of no action."""

    def __init__(self, config: NetConfig, layout: EntityLayout, views: int) -> None:
        """Read values as the critics of the same configuration do."""
        super().__init__()
        self.per_entity = config.values == "per-entity"
        require(
            not self.per_entity or OBJECT_ID in layout,
            "State values 'per-entity' need entities that are objects: true state. Use --values "
            "pooled, or --method iql-privileged.",
        )
        pooling: Pooling = "none" if self.per_entity else "learned"
        self.trunk = Trunk(config, layout, views, 1, pooling)
        inputs = config.embed_dim * (1 + self.per_entity)
        self.head = MLP((inputs, *config.head_hidden, 1))

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Evaluate states: values (B,), or (B, N) of the objects, 0 for padding."""
        if not self.per_entity:
            return self.head(self.trunk(state, goal))[0, ..., 0]
        count = state.shape[1] - 1
        tokens = TokenSet.of(state), TokenSet.of(goal)
        if kernels.enabled(state.values):
            return in_buckets(partial(self._of_objects, count), *tokens, None, None)[0]
        return self._of_objects(count, *tokens)[0]

    def _of_objects(
        self,
        count: int,
        state: TokenSet,
        goal: TokenSet,
        action_token: Tensor | None = None,
        action_position: Tensor | None = None,
    ) -> Tensor:
        """Values (1, B, count), each read at an object's token and at the gripper's."""
        del action_token, action_position
        tokens, _ = self.trunk.tokens(state, goal)
        tokens = self.trunk.project(self.trunk.norm(tokens))  # (1, B, 1 + S, E)
        objects = tokens[:, :, 1:]
        gripper = tokens[:, :, :1].expand_as(objects)
        values = self.head(torch.cat((objects, gripper), dim=-1))[..., 0]  # (1, B, S)
        return _in_order(values, state, count, first=1)


def _in_order(values: Tensor, tokens: TokenSet, count: int, first: int = 0) -> Tensor:
    """Values (C, B, S) of packed tokens from `first` on in the order of all `count`; 0: padding."""
    values = values * tokens.visible[:, first:].to(values.dtype)
    if tokens.source is None:
        return values
    slots = (tokens.source[:, first:] - first).expand_as(values)
    return values.new_zeros(*values.shape[:2], count).scatter(2, slots, values)
