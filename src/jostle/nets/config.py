"""Sizes of the networks."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class NetConfig:
    """Which network, and how large; the defaults are the paper's."""

    kind: Literal["eit", "smorl", "mlp"] = "eit"
    """Entity Interaction Transformer, SMORL's attention net, or an unstructured MLP."""
    width: int = 64
    """Embedding of an entity."""
    heads: int = 8
    """Attention heads."""
    embed_hidden: tuple[int, ...] = ()
    """Hidden layers of an MLP beside the linear embedding of an entity, for features that say
    something only together, as appearance does of a heading; none: the paper's."""
    block_hidden: tuple[int, ...] = (256, 256)
    """Hidden layers of each block's MLP."""
    head_hidden: tuple[int, ...] = (256, 256, 256)
    """Hidden layers of the output MLP."""
    action_entity: bool = True
    """Whether the critic sees the action as one more entity (off: appended after pooling)."""
    goal_conditioning: bool = True
    """Whether goals are attended to (off: an ablation)."""
    tied_start: float = 0.0
    """Above 0, cross-attention starts by matching like with like, sharpened by this factor."""
    critics: Literal["same", "mlp"] = "same"
    """Kind of the critics: as the actor, or unstructured (cheaper; the actor keeps its freedom)."""
    rounds: int = 1
    """How often the triple self, cross, self attention is repeated."""
    bearings: int = 0
    """Wavelengths by which attention sees where one entity lies from another; 0: the paper's."""
    ground: bool = False
    """Whether attention also sees bearings on the table, across views, by the cameras' calibration;
    for particles with bearings."""
    tells: int = 0
    """Numbers that an actor says beside its action, for imitation to correct: what objects have
    achieved and what is desired of them, one object after the other. Nothing acts on them."""
    action_place: bool = False
    """Whether the action entity stands where the gripper would be; for true state with bearings."""
    normalize_codes: bool = True
    """Whether identity codes are normalized like coordinates, as the original does."""

    def __post_init__(self) -> None:
        """Refuse sizes that cannot be."""
        require(self.kind in ("eit", "smorl", "mlp"), f"There is no network '{self.kind}'.")
        require(
            self.width > 0 and self.heads > 0 and self.width % self.heads == 0,
            f"width ({self.width}) must be a positive multiple of heads ({self.heads}).",
        )
        require(self.critics in ("same", "mlp"), f"There are no critics '{self.critics}'.")
        require(self.rounds >= 1, f"rounds must be at least 1, not {self.rounds}.")
        require(
            not self.action_place or (self.bearings > 0 and self.action_entity),
            "action_place needs bearings above 0 and an action entity.",
        )
        require(
            not self.ground or (self.bearings > 0 and self.kind == "eit" and not self.action_place),
            "ground is for an 'eit' with bearings above 0 and without action_place.",
        )
        require(self.tells >= 0, f"tells must not be negative, not {self.tells}.")
        require(not self.tells or self.kind == "eit", "Only an 'eit' tells what it sees.")
        require(self.bearings >= 0, f"bearings must not be negative, not {self.bearings}.")


PAPER_NET = NetConfig()
"""The paper's widths."""
FAST_NET = NetConfig(
    heads=4,
    block_hidden=(128,),
    head_hidden=(128, 128),
    tied_start=2.0,
    bearings=6,
    normalize_codes=False,
)
"""Narrower MLPs, fewer heads, bearings: a fraction of the cost, and a fraction of the updates."""
SMORL_NET = NetConfig(kind="smorl", width=32, heads=4)
"""SMORL on true state."""
CRITIC_HIDDEN = (256, 256, 256)
"""Hidden layers of unstructured critics beside a structured actor."""
MLP_NET = NetConfig(kind="mlp")
"""The unstructured baseline."""
