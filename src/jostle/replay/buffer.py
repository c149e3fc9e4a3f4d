"""A replay buffer of whole episodes: raw entities, true coordinates, actions; no images."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.errors import require
from jostle.replay.episodes import Episodes


class EpisodeBuffer:
    """The newest `capacity` episodes; the oldest are overwritten."""

    def __init__(self, capacity: int) -> None:
        """Hold up to `capacity` episodes, all of one length."""
        require(capacity >= 1, f"A replay buffer holds at least one episode, not {capacity}.")
        self.capacity = capacity
        self.size = self._next = 0
        self._arrays: dict[str, NDArray[Any]] = {}
        self._view: Episodes | None = None

    def add(self, episodes: Episodes) -> None:
        """Store finished episodes."""
        new = episodes.arrays()
        if not self._arrays:
            self._arrays = {
                name: np.zeros((self.capacity, *values.shape[1:]), values.dtype)
                for name, values in new.items()
            }
        require(
            new.keys() == self._arrays.keys(),
            f"These episodes do not fit the replay buffer. Only they have: "
            f"{_listed(new.keys() - self._arrays.keys())}. Only the buffer has: "
            f"{_listed(self._arrays.keys() - new.keys())}. It was filled by another version or "
            "with other settings: start a new run from the weights alone (--from RUN).",
        )
        slots = (self._next + np.arange(len(episodes))) % self.capacity
        for name, values in new.items():
            require(
                values.shape[1:] == self._arrays[name].shape[1:],
                f"Episodes of one buffer have one layout: {name} is {values.shape[1:]}, "
                f"the buffer holds {self._arrays[name].shape[1:]}.",
            )
            self._arrays[name][slots] = values
        self._next = int((self._next + len(episodes)) % self.capacity)
        self.size = min(self.capacity, self.size + len(episodes))
        self._view = None

    def view(self) -> Episodes:
        """All stored episodes, without copying."""
        require(self.size > 0, "The replay buffer is empty.")
        if self._view is None:
            self._view = Episodes.from_arrays(self._stored())
        return self._view

    @property
    def bytes_per_transition(self) -> float:
        """Memory of one step of one episode."""
        total = sum(values.nbytes for values in self._arrays.values())
        steps = self._arrays["actions"].shape[1] * self.capacity if self._arrays else 1
        return total / steps

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything needed to resume."""
        tensors = {name: torch.from_numpy(values) for name, values in self._stored().items()}
        return tensors, {"size": self.size, "next": self._next, "capacity": self.capacity}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.size, self._next = 0, 0
        if tensors:
            self.add(Episodes.from_arrays({name: x.numpy() for name, x in tensors.items()}))
        self.size, self._next, self._view = meta["size"], meta["next"], None

    def _stored(self) -> dict[str, NDArray[Any]]:
        return {name: values[: self.size] for name, values in self._arrays.items()}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
