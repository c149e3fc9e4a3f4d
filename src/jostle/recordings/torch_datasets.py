"""Recorded episodes as datasets of torch: whole episodes, or single transitions."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from jostle.recordings.reader import RecordedEpisodes

_PER_STEP = ("observation", "achieved_goal", "success", "frames")
"""Streams with a value before and after every action."""


class EpisodeDataset(Dataset[dict[str, Tensor]]):
    """Episodes as dictionaries of tensors, by the names of the recording's streams."""

    def __init__(self, recorded: RecordedEpisodes, streams: tuple[str, ...] = ()) -> None:
        """Read `streams` of every episode; all of them by default."""
        self.recorded, self.streams = recorded, streams or recorded.streams

    def __len__(self) -> int:
        """Count the episodes."""
        return len(self.recorded)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """Read one episode, such as `action` (T, A) and `observation` (T + 1, 1 + N, F)."""
        _check_index(index, len(self))
        return {
            stream: torch.from_numpy(self.recorded.read(stream, [index])[0])
            for stream in self.streams
        }


class TransitionDataset(Dataset[dict[str, Tensor]]):
    """Transitions as dictionaries of tensors.

    A stream with a value at every step, such as `observation`, appears twice: as it is before the
    action, and as `next_observation` after it.
    """

    def __init__(self, recorded: RecordedEpisodes, streams: tuple[str, ...] = ()) -> None:
        """Read `streams` of every transition; all of them by default."""
        self.recorded, self.streams = recorded, streams or recorded.streams

    def __len__(self) -> int:
        """Count the transitions."""
        return len(self.recorded) * self.recorded.steps

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """Read transition `step` of an episode: number `episode * steps + step`."""
        _check_index(index, len(self))
        episode, step = divmod(index, self.recorded.steps)
        values: dict[str, Any] = {}
        for stream in self.streams:
            rows = self.recorded.view(stream, episode)
            if stream in _PER_STEP:
                values[stream], values[f"next_{stream}"] = rows[step], rows[step + 1]
            else:
                values[stream] = rows[step] if stream in ("action", "reward") else rows
        return {name: torch.from_numpy(np.array(value)) for name, value in values.items()}


def _check_index(index: int, size: int) -> None:
    """Raise the error that ends an iteration."""
    if not 0 <= index < size:
        raise IndexError(f"There are {size} items, numbered from 0, not {index}.")
