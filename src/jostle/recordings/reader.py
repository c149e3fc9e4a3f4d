"""Reading of recordings: all shards of a folder as one list of episodes. Needs only numpy."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.catalog import suggest
from jostle.core.errors import FramesError, UnknownNameError
from jostle.frames.streams import Stream, verify
from jostle.recordings.manifest import EPISODE, HINT, RecordingManifest

METRICS = EPISODE.names[3:8]  # type: ignore[index]
"""Metrics of the last step that the table of episodes holds."""


@dataclass(frozen=True)
class RecordedEpisode:
    """One episode of T steps with N objects, each of F columns."""

    number: int
    """Number of the episode within the recording."""
    seed: int
    """`env.reset(seed=seed)` starts the same episode."""
    agent: str
    """Who acted."""
    observation: NDArray[np.float32]
    """True state at every step: the gripper, then the objects, (T + 1, 1 + N, F)."""
    achieved_goal: NDArray[np.float32]
    """Goal coordinates of the objects at every step, (T + 1, N, w)."""
    desired_goal: NDArray[np.float32]
    """Goal coordinates of the goals, (N, w)."""
    action: NDArray[np.float32]
    """Actions, (T, A)."""
    reward: NDArray[np.float32]
    """Rewards of the steps, (T,)."""
    success: NDArray[np.bool_]
    """Whether all objects are at their goals, at every step, (T + 1,)."""
    metrics: dict[str, float]
    """The paper's five metrics at the last step."""
    diverged: bool
    """Whether physics diverged on the way; such an episode is rare, and best left out."""
    frames: dict[str, NDArray[np.uint8]]
    """Images of each camera at every step, (T + 1, H, W, 3); empty without pixels."""
    goal_frames: dict[str, NDArray[np.uint8]]
    """The goal image of each camera, (H, W, 3); empty without pixels."""


class RecordedEpisodes:
    """The episodes of a folder that `jostle record` made, all of one length."""

    def __init__(self, folder: str | Path) -> None:
        """Open a recording; names, sizes and shapes are checked here, hashes by `verify`."""
        self.folder = Path(folder)
        self.manifest = RecordingManifest.read(self.folder)
        if not self.manifest.shards:
            raise FramesError(f"{self.folder} has no episodes yet. Repeat the 'jostle record'.")
        names = [*self.manifest.streams, "episodes"]
        self._streams = {name: Stream(self.folder, self.manifest, name, HINT) for name in names}
        self._check_shapes()
        self.table: NDArray[Any] = np.concatenate(self._streams["episodes"].maps)
        """Number, seed, agent and metrics of each episode (`manifest.EPISODE`), (E,)."""

    def __len__(self) -> int:
        """Count the episodes."""
        return len(self.table)

    def __iter__(self) -> Iterator[RecordedEpisode]:
        """Read the episodes one after the other."""
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> RecordedEpisode:
        """Read one episode."""
        if not 0 <= index < len(self):  # also ends old-style iteration
            raise IndexError(f"There are {len(self)} episodes, numbered from 0, not {index}.")
        row = self.table[index]
        arrays = {name: self.read(name, [index])[0] for name in self.streams}
        frames, goals = arrays.pop("frames", None), arrays.pop("goal_frames", None)
        views = range(len(self.cameras) if frames is not None else 0)
        return RecordedEpisode(
            number=int(row["number"]),
            seed=int(row["seed"]),
            agent=self.agents[row["agent"]],
            metrics={name: float(row[name]) for name in METRICS},
            diverged=bool(row["diverged"]),
            frames={self.cameras[view]: frames[:, view] for view in views},
            goal_frames={self.cameras[view]: goals[view] for view in views},
            **arrays,
        )

    def read(self, stream: str, episodes: Any = None) -> NDArray[Any]:
        """Read one stream of some episodes, or of all: (B, ...).

        Args:
            stream: One of `streams`.
            episodes: Indices of the episodes; all by default.
        """
        indices = np.arange(len(self)) if episodes is None else episodes
        spec = self.manifest.streams[self._known(stream)]
        checked, parts = self._streams[stream].read(indices)
        values = np.empty((len(checked), *spec.shape), np.dtype(spec.dtype))
        for where, rows in parts:
            values[where] = rows
        return values

    def view(self, stream: str, episode: int) -> NDArray[Any]:
        """One stream of one episode on disk, read-only: only what is used enters memory."""
        return self._streams[self._known(stream)].row(episode)

    @property
    def streams(self) -> tuple[str, ...]:
        """What is stored of every step or episode: names for `read`."""
        return tuple(self.manifest.streams)

    @property
    def task(self) -> str:
        """Name of the task; the environment's id is jostle/TASK-v0."""
        return str(self.manifest.identity["task"])

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """Options of the environment, for `gymnasium.make`."""
        kwargs: dict[str, Any] = dict(self.manifest.identity["env_kwargs"])
        return kwargs

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents that acted."""
        return tuple(agent["name"] for agent in self.manifest.identity["agents"])

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras of the frames, in the order of their axis; none without pixels."""
        return tuple(self.manifest.identity["cameras"])

    @property
    def steps(self) -> int:
        """Actions of an episode (T)."""
        return int(self.manifest.identity["steps"])

    @property
    def digest(self) -> str:
        """Hash of the content, from the hashes of all files."""
        entries = [file.sha256 for shard in self.manifest.shards for file in shard.files.values()]
        return hashlib.sha256("".join(entries).encode()).hexdigest()

    def verify(self) -> None:
        """Compare every file with its hash; raises `FramesError` at the first difference."""
        verify(self.folder, self.manifest, HINT)

    def _known(self, stream: str) -> str:
        """Refuse streams that the recording does not have."""
        if stream not in self.streams:
            raise UnknownNameError(
                f"The recording in {self.folder} has no '{stream}'. "
                f"{suggest(stream, list(self.streams))}"
            )
        return stream

    def _check_shapes(self) -> None:
        for name, stream in self._streams.items():
            spec = self.manifest.streams.get(name)
            dtype = EPISODE if spec is None else np.dtype(spec.dtype)
            shape = () if spec is None else spec.shape
            if len(stream.maps) != len(self.manifest.shards):
                raise FramesError(f"Some shards in {self.folder} have no '{name}'. {HINT}")
            for shard, array in zip(self.manifest.shards, stream.maps, strict=True):
                expected = (shard.episodes, *shape)
                if array.shape != expected or array.dtype != dtype:
                    raise FramesError(
                        f"{self.folder / shard.files[name].name} holds {array.dtype} of shape "
                        f"{array.shape} instead of {dtype} {expected}. {HINT}"
                    )
