"""The manifest of a recording: one JSON file that is always written last."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from jostle.core.errors import FramesError
from jostle.core.files import write_json
from jostle.frames.manifest import MANIFEST_NAME, FileEntry

KIND = "jostle recording"
"""What the manifest says it is of."""
FORMAT = 1
"""Version of the folder's format; readers refuse any other."""
HINT = "Record again into an empty folder."
EPISODE = np.dtype(
    [
        ("number", "<i8"),  # of the episode within the recording
        ("seed", "<i8"),  # env.reset(seed=...) starts it again
        ("agent", "<i4"),  # index in the manifest's agents
        ("success", "<f4"),  # the paper's five metrics at the last step
        ("success_fraction", "<f4"),
        ("average_distance", "<f4"),
        ("maximum_distance", "<f4"),
        ("average_return", "<f4"),
        ("diverged", "?"),  # whether physics diverged on the way
    ]
)
"""One row of the stream `episodes`. The names of the fields are part of the file format."""


@dataclass(frozen=True, kw_only=True)
class StreamSpec:
    """What a stream holds of one episode."""

    dtype: str
    """Type of its numbers, such as '<f4'."""
    shape: tuple[int, ...]
    """Shape of one episode, such as (T + 1, 1 + N, F)."""

    @property
    def bytes(self) -> int:
        """Bytes of one episode."""
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class RecordedShard:
    """Some whole episodes, one file per stream."""

    first_episode: int
    """Number of its first episode."""
    episodes: int
    """Number of episodes."""
    files: dict[str, FileEntry]
    """By stream: name, hash and size."""


@dataclass(frozen=True, kw_only=True)
class RecordingManifest:
    """Contents of a recording. The names of its fields are the keys of the JSON file."""

    identity: dict[str, Any]
    """Everything that determines the data: task, env_kwargs, steps, agents (each with name, share,
    noise and the hash of its weights), epsilon, seed, num_envs."""
    spaces: dict[str, Any]
    """Spaces of one environment: `action`, and `observation` with its keys; each has dtype, shape,
    low and high."""
    columns: dict[str, list[str]]
    """Names of the last axis of `observation` and of the goals (`goal`)."""
    goal_metric: dict[str, Any]
    """When an object is at its goal: goal_type, radius, scale, padded."""
    streams: dict[str, StreamSpec]
    """What is stored of every episode, besides the table `episodes`."""
    made_by: dict[str, Any]
    """Versions and other provenance."""
    shards: tuple[RecordedShard, ...] = ()
    """In the order of their episodes."""
    kind: str = field(default=KIND)
    """What this manifest is of."""
    format: int = field(default=FORMAT)
    """Version of the format."""

    @property
    def episodes(self) -> int:
        """Number of complete episodes."""
        return sum(shard.episodes for shard in self.shards)

    @property
    def episode_bytes(self) -> int:
        """Bytes of one episode on disk."""
        return EPISODE.itemsize + sum(stream.bytes for stream in self.streams.values())

    def write(self, folder: Path) -> None:
        """Write atomically."""
        write_json(folder / MANIFEST_NAME, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> "RecordingManifest":
        """Read the manifest of a folder, or say what is wrong with it."""
        path = folder / MANIFEST_NAME
        if not path.is_file():
            raise FramesError(_why_missing(folder))
        try:
            content = json.loads(path.read_text())
            kind, version = content.get("kind"), content["format"]
            if (kind, version) == (KIND, FORMAT):
                return _parse(content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FramesError(
                f"{path} is not the manifest of a recording ({type(error).__name__}: {error}). "
                f"{HINT}"
            ) from error
        if kind != KIND:
            raise FramesError(
                f"{folder} holds no recorded episodes, but frames of 'jostle collect'. Record some "
                "with 'jostle record'."
            )
        raise FramesError(
            f"The recording in {folder} has format {version}, but this version reads format "
            f"{FORMAT}. {HINT}"
        )


def _why_missing(folder: Path) -> str:
    """Explain why a folder has no manifest."""
    if not folder.is_dir():
        what = "no such folder"
    elif any(folder.glob("*.npy*")) or any(folder.glob(".*.part")):
        return (
            f"The recording in {folder} was interrupted before its first shard was complete "
            f"({MANIFEST_NAME} is missing). Repeat the same 'jostle record'."
        )
    else:
        what = f"{MANIFEST_NAME} is missing"
    return f"There is no recording in {folder}: {what}. Make one with 'jostle record'."


def _parse(content: dict[str, Any]) -> RecordingManifest:
    shards = []
    for shard in content["shards"]:
        files = {stream: FileEntry(**entry) for stream, entry in shard["files"].items()}
        shards.append(RecordedShard(**{**shard, "files": files}))
    streams = {
        name: StreamSpec(dtype=spec["dtype"], shape=tuple(spec["shape"]))
        for name, spec in content["streams"].items()
    }
    return RecordingManifest(**{**content, "shards": tuple(shards), "streams": streams})
