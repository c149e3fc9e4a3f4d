"""What a folder of frames holds, as one JSON file that is always written last."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jostle.core.errors import FramesError
from jostle.core.rundir import write_json

FORMAT = 1
"""Version of the folder's format; a reader refuses any other."""
NAME = "manifest.json"
_AGAIN = "Collect again into an empty folder."


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What all scenes of a folder share."""

    cameras: tuple[dict[str, Any], ...]
    """Name, position, target and field of view of each camera."""
    size: tuple[int, int]
    """Height and width of a frame."""
    shadows: bool = False
    """Whether frames show shadows."""

    @property
    def views(self) -> int:
        """Frames per scene."""
        return len(self.cameras)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one scene, (V, H, W, 3)."""
        return (self.views, *self.size, 3)

    def words(self) -> str:
        """Say it in words."""
        names = ", ".join(camera["name"] for camera in self.cameras)
        height, width = self.size
        return f"cameras {names} of {height} x {width} pixels{' with shadows' * self.shadows}"


@dataclass(frozen=True, kw_only=True)
class FileEntry:
    """One file of a shard."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Some whole episodes of one collection."""

    collection: int
    """Index in `Manifest.collections`."""
    first_episode: int
    """Number of its first episode within the collection."""
    episodes: int
    """How many episodes it holds."""
    scenes: int
    """How many scenes (moments, each seen by all cameras) it holds."""
    files: dict[str, FileEntry]
    """By stream: frames, scenes and, if truth was asked for, masks and truth."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The folder's table of contents."""

    layout: Layout
    """Cameras and size: the same everywhere."""
    palette: tuple[tuple[float, float, float], ...] = ()
    """All colors objects may have; color numbers count through this list."""
    collections: tuple[dict[str, Any], ...] = ()
    """What was asked for, one entry per different call: task, objects, policy, seed, ..."""
    shards: tuple[Shard, ...] = ()
    """In the order they were written."""
    format: int = field(default=FORMAT)
    """Version of the format."""

    def write(self, folder: Path) -> None:
        """Write at once or not at all."""
        write_json(folder / NAME, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read, and say what is wrong if that fails."""
        path = folder / NAME
        if not path.is_file():
            raise FramesError(_absent(folder))
        try:
            found = json.loads(path.read_text())
            version = found["format"]
            if version == FORMAT:
                return _parse(found)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FramesError(
                f"{path} is no manifest of frames ({type(error).__name__}: {error}). {_AGAIN}"
            ) from error
        raise FramesError(
            f"The frames in {folder} have format {version}, but this version reads format "
            f"{FORMAT}. {_AGAIN}"
        )


def plain(value: Any) -> Any:
    """Pass a value through JSON, so that it equals what will be read back."""
    return json.loads(json.dumps(value))


def digest(path: Path) -> str:
    """Hash of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _absent(folder: Path) -> str:
    if not folder.is_dir():
        return f"There are no frames in {folder}: no such folder. Make some with 'jostle collect'."
    begun = any(folder.glob("*.npy*")) or any(folder.glob(".*.part"))
    if begun:
        return (
            f"The collection in {folder} broke off before its first shard was complete "
            f"({NAME} is missing). Repeat the same 'jostle collect'."
        )
    return f"There are no frames in {folder}: {NAME} is missing. Make some with 'jostle collect'."


def _parse(found: dict[str, Any]) -> Manifest:
    layout = found["layout"]
    shards = [
        Shard(**{**one, "files": {key: FileEntry(**it) for key, it in one["files"].items()}})
        for one in found["shards"]
    ]
    return Manifest(
        layout=Layout(
            cameras=tuple(layout["cameras"]),
            size=(layout["size"][0], layout["size"][1]),
            shadows=layout["shadows"],
        ),
        palette=tuple((red, green, blue) for red, green, blue in found["palette"]),
        collections=tuple(found["collections"]),
        shards=tuple(shards),
    )
