"""Whole episodes in a ring of fixed size: raw entities, true coordinates, actions; no pictures."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require


@dataclass(frozen=True)
class Episodes:
    """E finished episodes of T steps."""

    states: NDArray[np.float32]
    """Entities at every moment, (E, T+1, V, K, D)."""
    visible: NDArray[np.bool_]
    """Which are there, (E, T+1, V, K)."""
    goals: NDArray[np.float32]
    """Goal entities, (E, V, G, D)."""
    goals_visible: NDArray[np.bool_]
    """(E, V, G)."""
    achieved: NDArray[np.float32]
    """Task coordinates of the objects, (E, T+1, N, w)."""
    desired: NDArray[np.float32]
    """Task coordinates asked for, (E, N, w)."""
    actions: NDArray[np.float32]
    """(E, T, A)."""
    true_states: NDArray[np.float32] | None = None
    """Entities of true state for critics that may know it, (E, T+1, 1, 1+N, F)."""
    true_visible: NDArray[np.bool_] | None = None
    """(E, T+1, 1, 1+N)."""
    true_goals: NDArray[np.float32] | None = None
    """(E, 1, N, F)."""
    true_goals_visible: NDArray[np.bool_] | None = None
    """(E, 1, N)."""
    photos: NDArray[np.float32] | None = None
    """Entities of pictures with the arm retracted, taken at equal intervals, (E, M, V, K, D)."""
    photos_visible: NDArray[np.bool_] | None = None
    """(E, M, V, K)."""
    rows: NDArray[np.float32] | None = None
    """True state as the environment tells it, for teachers that are asked again, (E, T+1, 1+N, F).
    """
    looks: NDArray[np.int64] | None = None
    """Which of the known colors each object has, -1 for one that is not there, (E, N)."""
    mistakes: NDArray[np.float32] | None = None
    """How far the student's action was from the teacher's when last looked at, (E, T)."""

    def __len__(self) -> int:
        """Count the episodes."""
        return len(self.actions)


class EpisodeRing:
    """The newest `capacity` episodes; the oldest make room."""

    def __init__(self, capacity: int) -> None:
        """Hold up to `capacity` episodes, all of one length."""
        require(capacity >= 1, f"A ring holds at least one episode, not {capacity}.")
        self.capacity = capacity
        self.size = self._next = 0
        self._store: dict[str, NDArray[np.generic]] = {}

    def add(self, episodes: Episodes) -> None:
        """Take finished episodes in."""
        fresh = {name: values for name, values in vars(episodes).items() if values is not None}
        if not self._store:
            self._store = {
                name: np.zeros((self.capacity, *values.shape[1:]), values.dtype)
                for name, values in fresh.items()
            }
        require(
            fresh.keys() == self._store.keys(),
            f"These episodes do not go with those in memory. Only they have: "
            f"{_listed(fresh.keys() - self._store.keys())}. Only memory has: "
            f"{_listed(self._store.keys() - fresh.keys())}. It was filled by another version or "
            "with other settings: begin anew from the weights alone (--from RUN).",
        )
        slots = (self._next + np.arange(len(episodes))) % self.capacity
        for name, values in fresh.items():
            require(
                values.shape[1:] == self._store[name].shape[1:],
                f"Episodes of one ring have one layout: {name} is {values.shape[1:]}, "
                f"the ring holds {self._store[name].shape[1:]}.",
            )
            self._store[name][slots] = values
        self._next = int((self._next + len(episodes)) % self.capacity)
        self.size = min(self.capacity, self.size + len(episodes))

    def view(self) -> Episodes:
        """Everything held, without copying."""
        require(self.size > 0, "The ring is empty.")
        return Episodes(**{name: values[: self.size] for name, values in self._store.items()})  # type: ignore[arg-type]

    @property
    def bytes_per_transition(self) -> float:
        """What one step of one episode costs in memory."""
        total = sum(values.nbytes for values in self._store.values())
        steps = self._store["actions"].shape[1] * self.capacity if self._store else 1
        return total / steps

    def export(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, int]]:
        """Everything needed to go on."""
        held = {name: values[: self.size] for name, values in self._store.items()}
        return held, {"size": self.size, "next": self._next, "capacity": self.capacity}

    def restore(self, held: dict[str, NDArray[np.generic]], counters: dict[str, int]) -> None:
        """Go back to what `export` gave."""
        self.size, self._next = 0, 0
        if held:
            self.add(Episodes(**held))  # type: ignore[arg-type]
        self.size, self._next = counters["size"], counters["next"]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
