"""Architecture and sizes of the networks."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class NetConfig:
    """Which network, and how large; the defaults are the paper's."""

    arch: Literal["eit", "smorl", "mlp"] = "eit"
    """Entity Interaction Transformer, SMORL's attention network, or an unstructured MLP."""
    embed_dim: int = 64
    """Size of an entity's embedding."""
    heads: int = 8
    """Attention heads."""
    embed_mlp: tuple[int, ...] = ()
    """Hidden layers of an MLP that is added to the linear embedding of an entity, for inputs that
    have a meaning only together, such as the appearance features that show a heading; none: the
    paper's."""
    block_hidden: tuple[int, ...] = (256, 256)
    """Hidden layers of the MLP in each transformer block."""
    head_hidden: tuple[int, ...] = (256, 256, 256)
    """Hidden layers of the output MLP."""
    action_entity: bool = True
    """Whether the critic gets the action as one more entity (off: appended after pooling)."""
    goal_conditioning: bool = True
    """Whether entities attend to goals (off: an ablation)."""
    tied_qk_init: float = 0.0
    """Above 0, cross-attention is initialized with equal query and key maps, scaled by this factor,
    so that entities attend to goals that resemble them."""
    critic_arch: Literal["same", "mlp"] = "same"
    """Architecture of the critics: the actor's, or an unstructured MLP, which is cheaper."""
    values: Literal["pooled", "per-entity"] = "pooled"
    """What critics output: one value of the whole set, pooled by attention (the paper), or a value
    per object, read at its own token, whose mean is the value of the set; from particles, a value
    per goal particle, whose token is the query of the pooling."""
    num_layers: int = 1
    """How often self-, cross- and self-attention are repeated."""
    relative_positions: int = 0
    """Fourier bands of the relative positions that attention adds to keys and values; 0: no
    relative positions (the paper)."""
    table_xy: bool = False
    """Whether attention also gets relative positions on the table, across views, by the cameras'
    calibration; for particles, with relative_positions above 0."""
    aux_targets: int = 0
    """Numbers that the actor predicts beside its action, trained by imitation only: the achieved
    and the desired goal of each object, one object after the other."""
    action_token_position: bool = False
    """Whether the action entity has a position, where the gripper would be after the action; for
    true state, with relative_positions above 0."""
    mean_opacity_mask: bool = False
    """Whether particles below the running mean of the opacity are hidden, and the normalizer counts
    all particles (the original code); off: the encoder's threshold decides, and the normalizer
    counts visible particles."""
    normalize_object_ids: bool = True
    """Whether object ids are normalized like coordinates (the original code)."""

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        require(
            self.arch in ("eit", "smorl", "mlp"),
            f"arch is 'eit', 'smorl' or 'mlp', not '{self.arch}'.",
        )
        require(
            self.embed_dim > 0 and self.heads > 0 and self.embed_dim % self.heads == 0,
            f"embed_dim ({self.embed_dim}) must be a positive multiple of heads ({self.heads}).",
        )
        require(
            self.critic_arch in ("same", "mlp"),
            f"critic_arch is 'same' or 'mlp', not '{self.critic_arch}'.",
        )
        self._check_values()
        require(self.num_layers >= 1, f"num_layers must be at least 1, not {self.num_layers}.")
        require(
            not self.action_token_position or (self.relative_positions > 0 and self.action_entity),
            "action_token_position needs relative_positions above 0 and action_entity.",
        )
        require(
            not self.table_xy
            or (
                self.relative_positions > 0
                and self.arch == "eit"
                and not self.action_token_position
            ),
            "table_xy needs arch 'eit', relative_positions above 0 and no action_token_position.",
        )
        require(self.aux_targets >= 0, f"aux_targets must not be negative, not {self.aux_targets}.")
        require(
            not self.aux_targets or self.arch == "eit",
            f"aux_targets needs arch 'eit', not '{self.arch}'.",
        )
        require(
            self.relative_positions >= 0,
            f"relative_positions must not be negative, not {self.relative_positions}.",
        )

    def _check_values(self) -> None:
        """Refuse critics that have no token per object."""
        require(
            self.values in ("pooled", "per-entity"),
            f"values is 'pooled' or 'per-entity', not '{self.values}'.",
        )
        require(
            self.values == "pooled"
            or (self.arch == "eit" and self.critic_arch == "same" and self.action_entity),
            "values 'per-entity' are read at the tokens of objects and of the action: they need "
            "arch 'eit', critic_arch 'same' and action_entity. Use --values pooled.",
        )


PAPER_NET = NetConfig()
"""The paper's sizes."""
FAST_NET = NetConfig(
    heads=4,
    block_hidden=(128,),
    head_hidden=(128, 128),
    tied_qk_init=2.0,
    relative_positions=6,
    normalize_object_ids=False,
)
"""Smaller MLPs, fewer heads, relative positions: cheaper updates, and fewer of them."""
SMORL_NET = NetConfig(arch="smorl", embed_dim=32, heads=4)
"""SMORL on true state."""
SMORL_IMAGE_NET = NetConfig(arch="smorl")
"""SMORL on particles: embeddings of 64, 8 heads."""
CRITIC_HIDDEN = (256, 256, 256)
"""Hidden layers of unstructured critics of a structured actor."""
MLP_NET = NetConfig(arch="mlp")
"""The unstructured baseline."""
