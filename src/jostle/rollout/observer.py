"""True state to entities.

Objects are identified by a one-hot id of fixed width, drawn anew for every episode, so that an
agent trained with n objects runs with any m: it has met every id, and learned to match equal ones.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.checkpoint import pack_rng, unpack_rng
from jostle.core.entities import (
    GRIPPER,
    HEADING,
    HEIGHT,
    OBJECT_ID,
    POSITION,
    Entities,
    EntityLayout,
)
from jostle.core.entities import StateFeatures as StateFeatures
from jostle.core.errors import require
from jostle.core.protocols import GoalSpec, Observation
from jostle.envs.observe import StateReader
from jostle.rollout.reach import present
from jostle.scene.spec import MAX_OBJECTS


def features_of(layout: EntityLayout) -> StateFeatures:
    """Which features entities of this layout have."""
    if GRIPPER in layout:
        return "full"
    return "paper" if OBJECT_ID in layout else "flat"


class StateObserver:
    """Entities of true state: coordinates, a gripper flag and a one-hot object id."""

    def __init__(
        self,
        reader: StateReader,
        num_envs: int,
        rng: np.random.Generator | None,
        features: StateFeatures = "full",
        shuffle_ids: bool = True,
    ) -> None:
        """Observe `num_envs` environments; ids are 0, 1, 2, ... unless `rng` shuffles them."""
        self._reader, self.rng = reader, rng
        self._fixed_ids = self._goal_gripper = features != "full"
        dropped = ("present", "z") if self._fixed_ids else ("present",)
        self._coordinates = [name for name in reader.columns if name not in dropped]
        heading = ((HEADING, 2),) if "sin" in self._coordinates else ()
        if features == "full":
            ids = ((GRIPPER, 1), (OBJECT_ID, MAX_OBJECTS))
            self.layout = EntityLayout(((POSITION, 2), (HEIGHT, 1), *heading, *ids))
        else:
            one_hot = ((OBJECT_ID, 1 + reader.objects),) if features == "paper" else ()
            self.layout = EntityLayout(((POSITION, 2), *heading, *one_hot))
        self._shuffle_ids = shuffle_ids and rng is not None and not self._fixed_ids
        self.object_ids = np.tile(np.arange(reader.objects), (num_envs, 1))  # (B, N)

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        return 1, 1 + self._reader.objects, self.layout.width

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a goal."""
        return 1, self._goal_gripper + self._reader.objects, self.layout.width

    def goal_spec(self) -> GoalSpec:
        """How hindsight reads a goal off a state."""
        coordinates = np.zeros(self.layout.width, np.float32)
        coordinates[: len(self._coordinates)] = 1.0
        columns = 1.0 - coordinates
        goal_columns = [name for name in self._reader.goal_columns if name != "present"]
        columns[[self._coordinates.index(name) for name in goal_columns]] = 1.0
        if GRIPPER in self.layout:
            columns[self.layout[GRIPPER]] = 0.0  # goals have no gripper
        shared = self._reader.goal_metric.goal_type == "yaw"
        return GoalSpec(1 - self._goal_gripper, columns, coordinates, shared=shared)

    def reset(self, envs: NDArray[np.int64]) -> None:
        """Draw new object ids for environments that start an episode, unless they are fixed."""
        if self.rng is None or not self._shuffle_ids:
            return
        for env in envs:
            self.object_ids[env] = self.rng.permutation(MAX_OBJECTS)[: self._reader.objects]

    def state(self, observation: Observation) -> Entities:
        """The gripper and the objects."""
        rows = observation["observation"]  # (B, 1+N, F)
        made, given = self.object_ids.shape, (len(rows), rows.shape[1] - 1)
        require(
            made == given,
            f"This policy was made for {made[0]} environments of {made[1]} objects, but here are "
            f"{given[0]} of {given[1]}: make one for these, or use act of a loaded agent, which "
            "takes any number.",
        )
        values = np.zeros((*rows.shape[:2], self.layout.width), np.float32)
        values[..., : len(self._coordinates)] = rows[..., self._columns()]
        self._identify(values)
        return self._entities(values, present(rows, self._reader.goal_metric.padded))

    def goal(self, observation: Observation) -> Entities:
        """The objects where they should be; with the paper's features also the gripper."""
        rows = observation["desired_goal"]  # (B, N, w)
        values = np.zeros((len(rows), 1 + rows.shape[1], self.layout.width), np.float32)
        for column, name in enumerate(self._reader.goal_columns):
            if name != "present":
                values[:, 1:, self._coordinates.index(name)] = rows[..., column]
        self._identify(values)
        if self._goal_gripper:
            gripper = self._reader.retracted_gripper()[self._columns()]
            values[:, 0, : len(gripper)] = gripper * self.goal_spec().columns[: len(gripper)]
        visible = present(rows, self._reader.goal_metric.padded)
        visible = np.concatenate((np.ones_like(visible[:, :1]), visible), axis=1)
        first = 1 - self._goal_gripper
        return self._entities(values[:, first:], visible[:, first:])

    def coordinates(self, goals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates (B, N, w) that the reward of training is about: all of them."""
        return goals

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Present object ids and their random generator."""
        meta = {} if self.rng is None else {"rng": pack_rng(self.rng)}
        return {"object_ids": torch.from_numpy(self.object_ids)}, meta

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.object_ids[:] = tensors["object_ids"].numpy()
        if self.rng is not None:
            unpack_rng(self.rng, meta["rng"])

    def _columns(self) -> list[int]:
        """Columns of `observation` that entities have."""
        return [self._reader.columns.index(name) for name in self._coordinates]

    def _identify(self, values: NDArray[np.float32]) -> None:
        """Mark the gripper and the objects of sets (B, 1+N, D)."""
        if GRIPPER in self.layout:
            values[:, 0, self.layout[GRIPPER]] = 1.0
        if OBJECT_ID not in self.layout:
            return
        ids = self.layout[OBJECT_ID]
        one_hot = np.eye(ids.stop - ids.start, dtype=np.float32)
        values[:, 1:, ids] = one_hot[int(self._fixed_ids) + self.object_ids]
        if self._fixed_ids:
            values[:, 0, ids.start] = 1.0

    def _entities(self, values: NDArray[np.float32], visible: NDArray[np.bool_]) -> Entities:
        return Entities((values * visible[..., None])[:, None], visible[:, None])
