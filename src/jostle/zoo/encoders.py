"""Loading encoders by name: a model of the zoo, a run directory or a weights file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jostle.core.catalog import suggest
from jostle.core.errors import UnknownNameError, require
from jostle.core.protocols import Encoder
from jostle.encoders import saving
from jostle.runs.run_dir import RunDir
from jostle.zoo.registry import encoders, read_meta, registry


def find_encoder_file(name: str, zoo: Path | None = None) -> Path:
    """Path of an encoder's weights file; of a run, its best weights or its last checkpoint."""
    models = registry(zoo)
    path = models[name].weights if name in models else Path(name)
    if not path.exists():
        raise UnknownNameError(
            f"There is no encoder called '{name}', and no run or file of that name. "
            f"{suggest(name, list(encoders(zoo)))}"
        )
    return RunDir(path).weights() if path.is_dir() else path


def load_encoder(name: str, zoo: Path | None = None) -> Encoder:
    """Load an encoder."""
    return load_encoder_with_meta(name, zoo)[0]


def load_encoder_with_meta(name: str, zoo: Path | None = None) -> tuple[Encoder, dict[str, Any]]:
    """Load an encoder and the metadata in its file."""
    return saving.load_encoder(find_encoder_file(name, zoo))


def check_cameras(name: str, cameras: Sequence[str], zoo: Path | None = None) -> None:
    """Refuse cameras that an encoder was never trained on, as far as its file lists them."""
    history = read_meta(find_encoder_file(name, zoo)).get("history", [])
    frames = [spec for stage in history for spec in stage.get("collected", []) if spec]
    known = sorted({camera for spec in frames for camera in spec.get("cameras", ())})
    for camera in cameras if known else ():
        require(
            camera in known,
            f"The encoder '{name}' was never trained on the camera '{camera}', only on "
            f"{', '.join(known)}. Use those (--cameras), or pretrain an encoder on frames of it.",
        )


def encoder_finder(zoo: Path | None) -> Callable[[str], Path | None]:
    """A function that finds encoders by their hash: in one zoo, else in those of all names."""
    return lambda digest: find_encoder_by_hash(digest, zoo) or find_encoder_by_hash(digest)


def find_encoder_by_hash(digest: str, zoo: Path | None = None) -> Path | None:
    """Path of the zoo's encoder whose weights have this hash."""
    for entry in encoders(zoo).values():
        if read_meta(entry.weights)["encoder"].get("hash") == digest:
            return entry.weights
    return None
