"""From an environment's observation to entities: the door between body and brain.

Objects are told apart by a code of fixed width, drawn anew for every episode, so that an agent
trained with n objects runs with any m: it has met every code, and learnt to match equal ones.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation
from jostle.envs.observe import StateReader
from jostle.replay.sampler import GoalForm
from jostle.rollout.approach import present
from jostle.scene.spec import MAX_OBJECTS


class Sets(NamedTuple):
    """Entities as numpy, on their way to memory."""

    values: NDArray[np.float32]
    """(B, V, K, D)."""
    visible: NDArray[np.bool_]
    """(B, V, K)."""


class Observer(Protocol):
    """Whatever turns observations into entities."""

    codes: NDArray[np.int64]
    """Which identity code each object of each copy has, (B, N)."""

    @property
    def rng(self) -> np.random.Generator | None:
        """Source of the codes; none if they are always the same."""
        ...

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        ...

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a goal."""
        ...

    @property
    def features(self) -> int:
        """Width of an entity."""
        ...

    @property
    def code_width(self) -> int:
        """Features at the end of an entity that are its identity code."""
        ...

    def goal_form(self) -> GoalForm:
        """How hindsight reads a goal off a state."""
        ...

    def begin(self, copies: NDArray[np.int64]) -> None:
        """Prepare copies that start an episode."""
        ...

    def state(self, observation: Observation) -> Sets:
        """What is there."""
        ...

    def goal(self, observation: Observation) -> Sets:
        """What shall be there."""
        ...

    def coordinates(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates (B, N, w) that the reward of training is about."""
        ...


class StateObserver:
    """True state to entities: place, heading, a gripper flag and a one-hot identity code."""

    def __init__(self, reader: StateReader, copies: int, rng: np.random.Generator | None) -> None:
        """Serve `copies` copies; without `rng`, codes are simply 0, 1, 2, ..."""
        self._reader, self.rng = reader, rng
        self._place = [name for name in reader.columns if name != "present"]
        self.codes = np.tile(np.arange(reader.objects), (copies, 1))  # (B, N)

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        return 1, 1 + self._reader.objects, self.features

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a goal."""
        return 1, self._reader.objects, self.features

    @property
    def features(self) -> int:
        """Width of an entity."""
        return len(self._place) + 1 + MAX_OBJECTS

    @property
    def code_width(self) -> int:
        """Features at the end of an entity that are its identity code."""
        return MAX_OBJECTS

    def goal_form(self) -> GoalForm:
        """How hindsight reads a goal off a state."""
        places = np.zeros(self.features, np.float32)
        places[: len(self._place)] = 1.0
        columns = 1.0 - places
        columns[[self._place.index(n) for n in self._reader.goal_columns if n != "present"]] = 1.0
        columns[len(self._place)] = 0.0  # goals have no gripper
        return GoalForm(1, columns, places, shared=self._reader.measure.kind == "yaw")

    def begin(self, copies: NDArray[np.int64]) -> None:
        """Draw new identity codes for copies that start an episode."""
        if self.rng is None:
            return
        for copy in copies:
            self.codes[copy] = self.rng.permutation(MAX_OBJECTS)[: self._reader.objects]

    def state(self, observation: Observation) -> Sets:
        """The gripper and the objects."""
        rows = observation["observation"]  # (B, 1+N, F)
        values = np.zeros((*rows.shape[:2], self.features), np.float32)
        values[..., : len(self._place)] = rows[..., : len(self._place)]
        values[:, 0, len(self._place)] = 1.0
        values[:, 1:, len(self._place) + 1 :] = self._identity()
        return self._seen(values, rows)

    def goal(self, observation: Observation) -> Sets:
        """Where the objects shall go."""
        rows = observation["desired_goal"]  # (B, N, w)
        values = np.zeros((*rows.shape[:2], self.features), np.float32)
        for column, name in enumerate(self._reader.goal_columns):
            if name != "present":
                values[..., self._place.index(name)] = rows[..., column]
        values[..., len(self._place) + 1 :] = self._identity()
        return self._seen(values, rows)

    def coordinates(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates (B, N, w) that the reward of training is about: all of them."""
        return rows

    def _identity(self) -> NDArray[np.float32]:
        return np.eye(MAX_OBJECTS, dtype=np.float32)[self.codes]  # (B, N, 12)

    def _seen(self, values: NDArray[np.float32], rows: NDArray[np.float32]) -> Sets:
        visible = present(rows, self._reader.measure.padded)
        return Sets((values * visible[..., None])[:, None], visible[:, None])
