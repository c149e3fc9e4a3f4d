"""Objects to move to, as particles show them: exploration that reads no true place of an object.

Read are the particles of state and goal, projected to the table by the cameras' calibration, and
where the robot's own gripper is. Particles of the arm lie above the table, so two cameras project
them to different places, and they look like nothing that goal images show on the table.
Shapes: B environments, P particles of all views, G those of the goal.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, TABLE_XY, Entities, EntityLayout
from jostle.core.errors import require
from jostle.rollout.table_projection import UNIT
from jostle.scene.spec import CUBE_SIDE

_SAME_PLACE = CUBE_SIDE / 2
"""Meters within which particles of two views show one thing on the table."""
_ALIKE = 6.0
"""Squared distance of features below which particles match, the paper's."""
_FOLLOW = 0.06
"""How far an object may be from where it was a step before, in meters."""

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


class ParticleTargets:
    """Objects of B environments that can be reached, and the place of the one that is."""

    def __init__(self, layout: EntityLayout, num_envs: int, table_half_size: Floats) -> None:
        """Read particles with these columns; `table_half_size` (2,) is in meters."""
        require(
            TABLE_XY in layout and FEATURES in layout,
            "--reach-from particles heads for places on the table, which these entities do not "
            "have. Train with an encoder 'dlp' and --table-xy, or --reach-from truth.",
        )
        self._layout, self._half_size = layout, table_half_size
        self._place = np.zeros((num_envs, 2), np.float32)

    def look(
        self, gripper: Floats, state: Entities, goal: Entities, target: NDArray[np.int64]
    ) -> tuple[Floats, Flags, NDArray[np.int64]]:
        """Find objects, and the one among them that each environment moves to.

        An object that no particle shows any more, as when the arm hides it, stays where it was.

        Args:
            gripper: Position of the gripper, (B, 3).
            state: Particles of the state.
            goal: Particles of the goal.
            target: Row of the object that was moved to in the last step, -1: none, (B,).

        Returns:
            Rows like those of true state (B, 1+P+1, 3): gripper, particles, last place of the
            target; which of them are objects (B, P+1); the target among them (B,).
        """
        places, kept = self._places(state), self._shows_object(state, goal)

        # Follow the target
        gap = np.linalg.norm(places - self._place[:, None], axis=-1)  # (B, P)
        gap = np.where(kept, gap, np.inf)
        last = np.where(gap.min(-1) < _FOLLOW, gap.argmin(-1), gap.shape[1])
        target = np.where(target >= 0, last, -1)

        # Rows
        places = np.concatenate((places, self._place[:, None]), axis=1)  # (B, P+1, 2)
        height = np.full((*places.shape[:2], 1), CUBE_SIDE / 2, np.float32)
        objects = np.concatenate((places, height), axis=-1)
        rows = np.concatenate((gripper[:, None, :3], objects), axis=1)
        available = np.concatenate((kept, (target == gap.shape[1])[:, None]), axis=1)
        return rows, available, target

    def remember(self, rows: Floats, target: NDArray[np.int64]) -> None:
        """Keep the place of the target among these rows."""
        self._place = rows[np.arange(len(rows)), 1 + np.maximum(target, 0), :2]

    def _shows_object(self, state: Entities, goal: Entities) -> Flags:
        """Particles on the table that two views agree on, or that look like a goal's, (B, P)."""
        places, on_table = self._places(state), self._on_table(state)
        view = np.arange(on_table.shape[1]) // state.visible.shape[-1]  # (P,)
        apart = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)  # (B, P, P)
        other = on_table[:, None] & (view[:, None] != view)
        agreed = ((apart < _SAME_PLACE) & other).any(-1)

        # Goal images have no arm over the table
        first, second = self._columns(state, FEATURES), self._columns(goal, FEATURES)
        unlike = ((first[:, :, None] - second[:, None]) ** 2).sum(-1)  # (B, P, G)
        alike = ((unlike < _ALIKE) & self._on_table(goal)[:, None]).any(-1)
        shown: Flags = on_table & (agreed | alike)
        return shown

    def _on_table(self, entities: Entities) -> Flags:
        visible = entities.visible.reshape(len(entities.visible), -1)
        inside: Flags = visible & (np.abs(self._places(entities)) < self._half_size).all(-1)
        return inside

    def _places(self, entities: Entities) -> Floats:
        """Positions on the table in meters, (B, P, 2)."""
        return self._columns(entities, TABLE_XY) * np.float32(UNIT)

    def _columns(self, entities: Entities, name: str) -> Floats:
        """A group of columns of the particles of all views, (B, P, ...)."""
        batch, views, count, _ = entities.values.shape
        columns: Floats = entities.values[..., self._layout[name]]
        return columns.reshape(batch, views * count, -1)
