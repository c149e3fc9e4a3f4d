"""The manifest of a folder of frames: one JSON file that is always written last."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jostle.core.errors import FramesError
from jostle.core.files import write_json

FORMAT = 1
"""Version of the folder's format; readers refuse any other."""
MANIFEST_NAME = "manifest.json"
_HINT = "Collect again into an empty folder."


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Cameras and size of frames, the same for all scenes of a folder."""

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

    def describe(self) -> str:
        """Describe the layout in error messages."""
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
    """Number of episodes."""
    scenes: int
    """Number of scenes; a scene is one step, rendered from all cameras."""
    files: dict[str, FileEntry]
    """By stream: frames, scenes and, with ground truth, masks and truth."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Contents of a folder. The names of its fields are the keys of the JSON file."""

    layout: Layout
    """Cameras and size, the same everywhere."""
    palette: tuple[tuple[float, float, float], ...] = ()
    """All colors that objects may have; color indices refer to this list."""
    collections: tuple[dict[str, Any], ...] = ()
    """One entry per frame dataset. Its `asked` is the dataset's identity: task, policy, seed..."""
    shards: tuple[Shard, ...] = ()
    """In the order they were written."""
    format: int = field(default=FORMAT)
    """Version of the format."""

    def write(self, folder: Path) -> None:
        """Write atomically."""
        write_json(folder / MANIFEST_NAME, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read the manifest of a folder, or say what is wrong with it."""
        path = folder / MANIFEST_NAME
        if not path.is_file():
            raise FramesError(_why_missing(folder))
        try:
            content = json.loads(path.read_text())
            version = content["format"]
            if version == FORMAT:
                return _parse(content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FramesError(
                f"{path} is not a manifest of frames ({type(error).__name__}: {error}). {_HINT}"
            ) from error
        raise FramesError(
            f"The frames in {folder} have format {version}, but this version reads format "
            f"{FORMAT}. {_HINT}"
        )


def plain(value: Any) -> Any:
    """Convert a value to JSON and back, so that it equals what will be read from the file."""
    return json.loads(json.dumps(value))


def file_hash(path: Path) -> str:
    """Hash of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _why_missing(folder: Path) -> str:
    """Explain why a folder has no manifest."""
    if not folder.is_dir():
        return f"There are no frames in {folder}: no such folder. Make some with 'jostle collect'."
    started = any(folder.glob("*.npy*")) or any(folder.glob(".*.part"))
    if started:
        return (
            f"The collection in {folder} was interrupted before its first shard was complete "
            f"({MANIFEST_NAME} is missing). Repeat the same 'jostle collect'."
        )
    return (
        f"There are no frames in {folder}: {MANIFEST_NAME} is missing. Make some with "
        "'jostle collect'."
    )


def _parse(content: dict[str, Any]) -> Manifest:
    layout = content["layout"]
    shards = []
    for shard in content["shards"]:
        files = {stream: FileEntry(**entry) for stream, entry in shard["files"].items()}
        shards.append(Shard(**{**shard, "files": files}))
    return Manifest(
        layout=Layout(
            cameras=tuple(layout["cameras"]),
            size=(layout["size"][0], layout["size"][1]),
            shadows=layout["shadows"],
        ),
        palette=tuple((red, green, blue) for red, green, blue in content["palette"]),
        collections=tuple(content["collections"]),
        shards=tuple(shards),
    )
