"""The table reward of agents whose entities are objects found in images, in the goal's rows.

Objects and goals were paired when the objects were found, so their distances are those of rows.
Shapes: B samples, N objects of a goal; states have the gripper as their first row.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import HEIGHT, POSITION, Entities, EntityLayout
from jostle.core.errors import NotFiniteError, require
from jostle.rewards.on_table import Floats, OnTableReward

_FALL = 0.2
"""Meters that a fall adds to a distance: fallen objects lie about as far beyond the table."""


@dataclass(frozen=True)
class RowReward(OnTableReward):
    """Dense reward of found objects, in the scale of the true one."""

    layout: EntityLayout
    """Columns of the entities."""
    scale: float
    """Distance in whose units the reward is given, in meters."""
    farthest: float
    """Distance of a goal object that was never seen, in meters."""
    reads: ClassVar[Literal["coordinates", "entities", "objects"]] = "entities"

    def __post_init__(self) -> None:
        """Refuse values without meaning."""
        for name in ("scale", "farthest"):
            require(getattr(self, name) > 0, f"{name} must be positive, not {getattr(self, name)}.")

    def per_object(self, state: Entities, goal: Entities) -> tuple[Floats, NDArray[np.bool_]]:
        """Reward of each goal object, and which of them have been seen, (B, N) each.

        Others have no entity in the state from which a critic could read a value.
        """
        rewards, present = super().per_object(state, goal)
        return rewards, present & state.visible[:, 0, 1:]

    def distances(self, state: Entities, goal: Entities) -> Floats:
        """Distance (B, N) of each object to its goal; 0 for padding.

        It is `farthest` for objects that were never seen; a fall off the table makes it longer.
        """
        place = self.layout[POSITION]
        gap = state.values[:, 0, 1:, place] - goal.values[:, 0, :, place]  # (B, N, 2)
        distance = np.sqrt((gap * gap).sum(-1))
        if not np.isfinite(distance).all():
            raise NotFiniteError("Objects found in images are NaN or infinite: check the encoder.")
        fallen = state.values[:, 0, 1:, self.layout[HEIGHT]][..., 0] < 0
        distance = distance + np.float32(_FALL) * fallen
        distance = np.where(state.visible[:, 0, 1:], distance, self.farthest)
        capped: Floats = np.minimum(distance, self.farthest) * goal.visible[:, 0]
        return capped.astype(np.float32)
