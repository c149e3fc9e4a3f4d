"""From a configuration and shapes to networks."""

from dataclasses import dataclass, replace

from torch import nn

from jostle.nets.config import CRITIC_HIDDEN, NetConfig
from jostle.nets.eit import EITActor, EITCritic
from jostle.nets.mlp import MLPActor, MLPCritic
from jostle.nets.smorl import SmorlActor, SmorlCritic


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """What an agent is fed with and what it must give."""

    state: tuple[int, int, int]
    """Views, entities, features of a state."""
    goal: tuple[int, int, int]
    """Views, entities, features of a goal."""
    codes: int = 0
    """Features at the end of an entity that are its identity code."""
    actions: int = 3
    """Numbers in an action."""

    @property
    def features(self) -> int:
        """Width of an entity."""
        return self.state[2]


def make_actor(config: NetConfig, shapes: Shapes) -> nn.Module:
    """Build the policy network."""
    views = shapes.state[0]
    if config.kind == "eit":
        return EITActor(config, shapes.features, views, shapes.actions)
    if config.kind == "smorl":
        return SmorlActor(config, shapes.features, views, shapes.actions)
    return MLPActor(config, _row(shapes), shapes.actions)


def make_critics(config: NetConfig, shapes: Shapes) -> nn.Module:
    """Build the twin critics."""
    views = shapes.state[0]
    if config.critics == "mlp" and config.kind != "mlp":
        config = replace(config, kind="mlp", head_hidden=CRITIC_HIDDEN, ground=False, tells=0)
    if config.kind == "eit":
        return EITCritic(config, shapes.features, views, shapes.actions)
    if config.kind == "smorl":
        return SmorlCritic(config, shapes.features, views, shapes.actions)
    return MLPCritic(config, _row(shapes), shapes.state[1] * shapes.features, shapes.actions)


def _row(shapes: Shapes) -> int:
    views, count, features = shapes.state
    return views * (count + shapes.goal[1]) * features
