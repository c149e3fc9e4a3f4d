"""Encoders by the word a user types: a name of the zoo, a run or a file."""

from pathlib import Path
from typing import Any

from jostle.core.catalog import suggest
from jostle.core.errors import UnknownNameError
from jostle.core.rundir import RunDir
from jostle.particles.catalog import Model
from jostle.particles.saving import load_encoder
from jostle.zoo.shelf import FOLDER, encoders, shelf


def encoder_weights(word: str, zoo: Path = FOLDER) -> Path:
    """Find the file of an encoder: a name of the zoo, a run's folder or a file."""
    held = shelf(zoo)
    path = held[word].weights if word in held else Path(word)
    if not path.exists():
        raise UnknownNameError(
            f"There is no encoder called '{word}', and no run or file of that name. "
            f"{suggest(word, list(encoders(zoo)))}"
        )
    return RunDir(path).best if path.is_dir() else path


def look(word: str, zoo: Path = FOLDER) -> Model:
    """The encoder alone, for an agent to see with."""
    return encoder_for(word, zoo)[0]


def encoder_for(word: str, zoo: Path = FOLDER) -> tuple[Model, dict[str, Any]]:
    """Find an encoder and load it; also gives what was written beside its weights."""
    return load_encoder(encoder_weights(word, zoo))
