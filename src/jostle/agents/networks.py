"""From a configuration and the shapes of observations to networks."""

from dataclasses import dataclass, replace

from torch import nn

from jostle.core.entities import OBJECT_ID, OPACITY, TABLE_XY, EntityLayout
from jostle.core.errors import require
from jostle.nets.config import CRITIC_HIDDEN, NetConfig
from jostle.nets.eit import EITActor, EITCritic, EITValue
from jostle.nets.mlp import MLPActor, MLPCritic
from jostle.nets.normalize import Normalizer
from jostle.nets.smorl import SmorlActor, SmorlCritic


@dataclass(frozen=True, kw_only=True)
class ObservationSpec:
    """What an agent observes and how many numbers an action has."""

    state: tuple[int, int, int]
    """Views, entities and features of a state."""
    goal: tuple[int, int, int]
    """Views, entities and features of a goal."""
    layout: EntityLayout
    """Which columns of an entity are what."""
    actions: int = 3
    """Numbers in an action."""
    critic: "ObservationSpec | None" = None
    """What privileged critics observe instead."""

    @property
    def features(self) -> int:
        """Columns of an entity."""
        return self.state[2]


def make_actor(config: NetConfig, spec: ObservationSpec) -> nn.Module:
    """Build the policy network."""
    spec = _normalized(config, spec)
    views = spec.state[0]
    if config.arch == "eit":
        return EITActor(config, spec.layout, views, spec.actions)
    if config.arch == "smorl":
        return SmorlActor(config, spec.features, views, spec.actions)
    return MLPActor(config, _flat_width(spec), spec.actions)


def make_critics(config: NetConfig, spec: ObservationSpec) -> nn.Module:
    """Build the twin critics."""
    spec = _normalized(config, spec)
    views = spec.state[0]
    if config.critic_arch == "mlp" and config.arch != "mlp":
        config = replace(
            config, arch="mlp", head_hidden=CRITIC_HIDDEN, table_xy=False, aux_targets=0
        )
    if config.arch == "eit":
        return EITCritic(config, spec.layout, views, spec.actions)
    if config.arch == "smorl":
        return SmorlCritic(config, spec.features, views, spec.actions)
    return MLPCritic(config, _flat_width(spec), spec.state[1] * spec.features, spec.actions)


def make_value(config: NetConfig, spec: ObservationSpec) -> EITValue:
    """Build the network of state values, which goes with critics of the same sets."""
    require(
        config.arch == "eit" and config.critic_arch == "same",
        "State values are there for sets only: train with --arch eit and --critic-arch same.",
    )
    spec = _normalized(config, spec)
    return EITValue(config, spec.layout, spec.state[0])


def make_normalizer(config: NetConfig, spec: ObservationSpec) -> Normalizer:
    """Build the first layer of a network: one-hot ids and table positions stay raw."""
    raw = TABLE_XY if config.table_xy else OBJECT_ID
    keep = raw in spec.layout and (raw == TABLE_XY or not config.normalize_object_ids)
    columns = spec.layout[raw] if keep else slice(0, 0)
    mask_column = None
    if _masked_by_opacity(config, spec):
        mask_column = spec.layout[OPACITY].start
    return Normalizer(spec.features, num_raw=columns.stop - columns.start, mask_column=mask_column)


def _masked_by_opacity(config: NetConfig, spec: ObservationSpec) -> bool:
    """Whether opacity is a mask, and no feature of the networks."""
    return config.mean_opacity_mask and OPACITY in spec.layout


def _normalized(config: NetConfig, spec: ObservationSpec) -> ObservationSpec:
    """What networks get from the normalizer."""
    if not _masked_by_opacity(config, spec):
        return spec
    layout = spec.layout.without(OPACITY)
    state, goal = ((*shape[:2], layout.width) for shape in (spec.state, spec.goal))
    return replace(spec, state=state, goal=goal, layout=layout)


def _flat_width(spec: ObservationSpec) -> int:
    views, count, features = spec.state
    return views * (count + spec.goal[1]) * features
