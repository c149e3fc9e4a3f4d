"""True state to entities.

Objects are identified by a one-hot id of fixed width, drawn anew for every episode, so that an
agent trained with n objects runs with any m: it has met every id, and learned to match equal ones.
"""

from typing import Any, Literal

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
from jostle.core.protocols import GoalSpec, Observation
from jostle.envs.observe import StateReader
from jostle.rollout.reach import present
from jostle.scene.spec import MAX_OBJECTS


class StateObserver:
    """Entities of true state: coordinates, a gripper flag and a one-hot object id."""

    def __init__(
        self,
        reader: StateReader,
        num_envs: int,
        rng: np.random.Generator | None,
        features: Literal["full", "paper"] = "full",
        shuffle_ids: bool = True,
    ) -> None:
        """Observe `num_envs` environments; ids are 0, 1, 2, ... unless `rng` shuffles them.

        The paper's features have no height and no gripper flag: the gripper has the first id, and
        ids are fixed.
        """
        self._reader, self.rng = reader, rng
        dropped = ("present", "z") if features == "paper" else ("present",)
        self._coordinates = [name for name in reader.columns if name not in dropped]
        heading = ((HEADING, 2),) if "sin" in self._coordinates else ()
        if features == "paper":
            self.layout = EntityLayout(((POSITION, 2), *heading, (OBJECT_ID, 1 + reader.objects)))
        else:
            ids = ((GRIPPER, 1), (OBJECT_ID, MAX_OBJECTS))
            self.layout = EntityLayout(((POSITION, 2), (HEIGHT, 1), *heading, *ids))
        self._fixed_ids = features == "paper"
        self._shuffle_ids = shuffle_ids and rng is not None and not self._fixed_ids
        self.object_ids = np.tile(np.arange(reader.objects), (num_envs, 1))  # (B, N)

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        return 1, 1 + self._reader.objects, self.layout.width

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a goal."""
        return 1, self._reader.objects, self.layout.width

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
        return GoalSpec(1, columns, coordinates, shared=shared)

    def reset(self, envs: NDArray[np.int64]) -> None:
        """Draw new object ids for environments that start an episode, unless they are fixed."""
        if self.rng is None or not self._shuffle_ids:
            return
        for env in envs:
            self.object_ids[env] = self.rng.permutation(MAX_OBJECTS)[: self._reader.objects]

    def state(self, observation: Observation) -> Entities:
        """The gripper and the objects."""
        rows = observation["observation"]  # (B, 1+N, F)
        values = np.zeros((*rows.shape[:2], self.layout.width), np.float32)
        columns = [self._reader.columns.index(name) for name in self._coordinates]
        values[..., : len(columns)] = rows[..., columns]
        if GRIPPER in self.layout:
            values[:, 0, self.layout[GRIPPER]] = 1.0
        else:
            values[:, 0, self.layout[OBJECT_ID].start] = 1.0
        values[:, 1:, self.layout[OBJECT_ID]] = self._one_hot_ids()
        return self._entities(values, rows)

    def goal(self, observation: Observation) -> Entities:
        """The objects where they should be."""
        rows = observation["desired_goal"]  # (B, N, w)
        values = np.zeros((*rows.shape[:2], self.layout.width), np.float32)
        for column, name in enumerate(self._reader.goal_columns):
            if name != "present":
                values[..., self._coordinates.index(name)] = rows[..., column]
        values[..., self.layout[OBJECT_ID]] = self._one_hot_ids()
        return self._entities(values, rows)

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

    def _one_hot_ids(self) -> NDArray[np.float32]:
        ids = self.layout[OBJECT_ID]
        width = ids.stop - ids.start
        return np.eye(width, dtype=np.float32)[
            int(self._fixed_ids) + self.object_ids
        ]  # (B, N, width)

    def _entities(self, values: NDArray[np.float32], rows: NDArray[np.float32]) -> Entities:
        visible = present(rows, self._reader.goal_metric.padded)
        return Entities((values * visible[..., None])[:, None], visible[:, None])
