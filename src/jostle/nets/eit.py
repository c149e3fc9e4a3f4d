"""The Entity Interaction Transformer: entities look at each other, at the goals, and are pooled.

Self-attention, cross-attention to the goals, self-attention, then one learned query that gathers
everything. Invariant to the order of entities, and made for any number of them.
"""

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities
from jostle.core.errors import require
from jostle.nets.attention import Block
from jostle.nets.bearings import PLACE, Bearings, Waves
from jostle.nets.bearings import width as bearing_width
from jostle.nets.config import NetConfig
from jostle.nets.crowd import Crowd, groups
from jostle.nets.layers import MLP, LayerNorm, Linear

_TELLER = 128
"""Hidden width between what an actor has gathered and what it tells."""


class Embedding(Linear):
    """The first look at an entity: linear, and what an MLP adds to it."""

    def __init__(self, features: int, config: NetConfig, copies: int) -> None:
        """Map `features` to the network's width."""
        super().__init__(features, config.width, copies)
        hidden = config.embed_hidden
        self.more = MLP((features, *hidden, config.width), copies) if hidden else None

    def forward(self, x: Tensor) -> Tensor:
        """Map (1, ..., features) to (C, ..., width)."""
        plain = super().forward(x)
        return plain if self.more is None else plain + self.more(x)


class Trunk(nn.Module):
    """What actor and critic have in common, from entities to pooled features."""

    def __init__(self, config: NetConfig, features: int, views: int, copies: int) -> None:
        """Read entities of `features` features from `views` views."""
        super().__init__()
        width, heads, hidden = config.width, config.heads, config.block_hidden
        self.goal_conditioning, self.waves = config.goal_conditioning, config.bearings
        self.ground = config.ground
        told = bearing_width(self.waves) * (1 + self.ground) if self.waves else 0
        self.embed_state = Embedding(features, config, copies)
        self.embed_goal = Embedding(features, config, copies)
        self.view_codes = (
            nn.Parameter(0.02 * torch.randn(copies, views, width)) if views > 1 else None
        )
        crosses = [i % 3 == 1 for i in range(3 * config.rounds)]
        self.blocks = nn.ModuleList(
            Block(width, heads, hidden, cross, copies, told) for cross in crosses
        )
        self.pool = Block(width, heads, hidden, True, copies)
        self.query = nn.Parameter(0.02 * torch.randn(copies, 1, width))
        self.norm = LayerNorm(width, copies)
        self.project = Linear(width, width, copies)
        if config.tied_start > 0:
            self._tie(config.tied_start)

    @torch.no_grad()
    def _tie(self, sharpness: float) -> None:
        """Start goals like states and keys like queries: equal identities attend to each other."""
        self.embed_goal.load_state_dict(self.embed_state.state_dict())
        for block in self.blocks:
            if isinstance(block, Block) and block.norm_context is not None:
                block.attention.query.weight.mul_(sharpness)
                block.attention.key.weight.copy_(block.attention.query.weight)

    def embed(self, crowd: Crowd, embedding: Embedding) -> Tensor:
        """Turn entities into tokens (C, B, T, E) that tell their view."""
        tokens = embedding(crowd.values[None])
        if self.view_codes is not None:
            tokens = tokens + self.view_codes[:, crowd.view]
        return tokens

    def bearings(
        self, state: Crowd, goal: Crowd, extra: bool, place: Tensor | None
    ) -> tuple[tuple[Bearings, ...], tuple[Bearings, ...]]:
        """Where state entities lie from each other, and goals from them; first an extra token's."""
        if not self.waves:
            return (), ()
        here, there = state.values[..., :PLACE], goal.values[..., :PLACE]
        if place is not None:
            mine = Waves.of(torch.cat((place, here), dim=1), self.waves, gentle=1)
            return (Bearings(mine, mine),), (Bearings(mine, Waves.of(there, self.waves)),)
        among = [Bearings.between(here, here, self.waves, _same_view(state, state))]
        towards = [Bearings.between(here, there, self.waves, _same_view(state, goal))]
        if self.ground:  # places on the table, which all views share
            here, there = state.values[..., -PLACE:], goal.values[..., -PLACE:]
            among.append(Bearings.between(here, here, self.waves))
            towards.append(Bearings.between(here, there, self.waves))
        if extra:
            among = [one.with_stranger(there=True) for one in among]
            towards = [one.with_stranger(there=False) for one in towards]
        return tuple(among), tuple(towards)

    def forward(
        self,
        state: Entities,
        goal: Entities,
        extra: Tensor | None = None,
        place: Tensor | None = None,
    ) -> Tensor:
        """Pool state, goal and an extra token (C, B, 1, E), perhaps at a place, into features.

        Returns:
            Features (C, B, Q * E), Q = 2 with an extra token.
        """
        here, there = Crowd.of(state), Crowd.of(goal)
        parts = groups(here)
        if len(parts) == 1:
            return self.pooled(here.packed(), there.packed(), extra, place)[0]
        done = [
            self.pooled(
                here.part(sets),
                there.part(sets),
                None if extra is None else extra[:, sets],
                None if place is None else place[sets],
            )[0]
            for sets in parts
        ]
        return torch.cat(done, dim=1)[:, torch.cat(parts).argsort()]

    def pooled(
        self,
        state: Crowd,
        goal: Crowd,
        extra: Tensor | None = None,
        place: Tensor | None = None,
        keep_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Do this for one group, and keep the weights (C, B, h, Q, T) of pooling if asked to."""
        x, seen = self.embed(state, self.embed_state), state.seen  # (C, B, S, E), (B, S)
        goals = self.embed(goal, self.embed_goal)
        among, towards = self.bearings(state, goal, extra is not None, place)
        if extra is not None:
            x = torch.cat((extra, x), dim=2)
            seen = torch.cat((seen.new_ones(seen.shape[0], 1), seen), dim=1)
        for block in self.blocks:
            if block.norm_context is None:
                x = block(x, None, seen, among)
            elif self.goal_conditioning:
                x = block(x, goals, goal.seen, towards)
        query = self.query[:, None].expand(-1, x.shape[1], -1, -1)  # (C, B, 1, E)
        if extra is not None:
            query = torch.cat((query, x[:, :, :1]), dim=2)  # (C, B, 2, E)
        pooled, weights = self.pool.look(query, x, seen, keep_weights=keep_weights)
        return self.project(self.norm(pooled)).flatten(2), weights


class EITActor(nn.Module):
    """Entities and goals to an action."""

    def __init__(self, config: NetConfig, features: int, views: int, actions: int) -> None:
        """Choose `actions` numbers in [-1, 1]."""
        super().__init__()
        self.trunk = Trunk(config, features, views, copies=1)
        self.head = MLP((config.width, *config.head_hidden, actions))
        self.teller = MLP((config.width, _TELLER, config.tells)) if config.tells else None

    def forward(self, state: Entities, goal: Entities) -> Tensor:
        """Choose actions, (B, A)."""
        return torch.tanh(self.head(self.trunk(state, goal)))[0]

    def act_and_tell(self, state: Entities, goal: Entities) -> tuple[Tensor, Tensor | None]:
        """Choose actions, and say what is seen, (B, tells), if it is made to."""
        pooled = self.trunk(state, goal)
        told = None if self.teller is None else self.teller(pooled)[0]
        return torch.tanh(self.head(pooled))[0], told

    def attention(self, state: Entities, goal: Entities) -> Tensor:
        """Weights of the pooling query over the entities, (B, V*K), averaged over heads."""
        here = Crowd.of(state).packed()
        _, weights = self.trunk.pooled(here, Crowd.of(goal).packed(), keep_weights=True)
        assert weights is not None
        views, count, _ = state.shape
        return here.spread(weights[0, :, :, 0].mean(1), views * count)


class EITCritic(nn.Module):
    """Entities, goals and an action to C independent values."""

    def __init__(
        self, config: NetConfig, features: int, views: int, actions: int, copies: int = 2
    ) -> None:
        """Judge actions of `actions` numbers with `copies` independent networks."""
        super().__init__()
        self.trunk = Trunk(config, features, views, copies)
        self.action_entity, self.placed = config.action_entity, config.action_place
        require(not self.placed or views == 1, "action_place is for true state: one view only.")
        self.embed_action = MLP((actions, 256, config.width), copies)
        self.head = MLP((2 * config.width, *config.head_hidden, 1), copies)

    def forward(self, state: Entities, goal: Entities, action: Tensor) -> Tensor:
        """Judge (B, A) actions: values (C, B)."""
        token = self.embed_action(action[None, :, None])  # (C, B, 1, E)
        if self.action_entity:
            place = _reached(state, action) if self.placed else None
            pooled = self.trunk(state, goal, token, place)  # (C, B, 2E)
        else:
            alone = self.trunk(state, goal)  # (C, B, E)
            pooled = torch.cat((alone, token[:, :, 0]), dim=-1)
        return self.head(pooled)[..., 0]


def _same_view(one: Crowd, two: Crowd) -> Tensor | None:
    """1 where two entities are seen in the same view, (B, Q, S); nothing with a single view."""
    if one.view is None or two.view is None:
        return None
    return (one.view[:, :, None] == two.view[:, None]).to(one.values.dtype)


def _reached(state: Entities, action: Tensor) -> Tensor:
    """About where the gripper, the first entity of true state, will be: (B, 1, 2).

    A full action moves it by about one deviation of the normalized places.
    """
    return state.values[:, 0, :1, :PLACE] + action[:, None, :PLACE]
