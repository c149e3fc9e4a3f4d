"""Encoders in files that say what they are."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from jostle.core.checkpoint import CheckpointError, fill, load, save
from jostle.core.errors import JostleError
from jostle.particles.catalog import EncoderConfig, Model, build, kind_of, read_config

PREFIX = "encoder."
"""What the names of an encoder's tensors begin with."""


def describe(model: Model) -> dict[str, Any]:
    """The entry of a file that tells what its weights are, as plain data."""
    kind = kind_of(model.config)
    return {"kind": kind, "config": asdict(model.config), "shape": list(model.shape)}


def tensors_of(model: nn.Module, prefix: str = PREFIX) -> dict[str, Tensor]:
    """All that an encoder has learnt, by name."""
    return {f"{prefix}{name}": tensor for name, tensor in model.state_dict().items()}


def save_encoder(path: Path, model: Model, meta: dict[str, Any]) -> None:
    """Write an encoder at once or not at all; `meta` is kept beside what it is."""
    save(path, tensors_of(model), {**meta, "encoder": describe(model)})


def load_encoder(path: Path) -> tuple[Model, dict[str, Any]]:
    """Read an encoder and what was written beside it."""
    tensors, meta = load(path)
    return read_encoder(tensors, meta, path), meta


def read_encoder(tensors: Mapping[str, Tensor], meta: dict[str, Any], path: Path) -> Model:
    """Build the encoder that the tensors of a file hold."""
    kind, config = read_entry(meta, path)
    model = build(kind, config)
    fill(model, tensors, PREFIX, f"{kind} in {path}")
    return model.requires_grad_(False).eval()


def read_entry(meta: dict[str, Any], path: Path) -> tuple[str, EncoderConfig]:
    """Kind and config of the encoder in a file, or a sentence about what is there instead."""
    entry = meta.get("encoder")
    if not isinstance(entry, dict):
        what = "holds an agent" if "experiment" in meta else "does not say what it holds"
        raise CheckpointError(f"{path} {what}, but an encoder is wanted (jostle pretrain).")
    try:
        return entry["kind"], read_config(entry["kind"], entry["config"])
    except (JostleError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"The encoder in {path} does not fit this version of the package: {error}"
        ) from error
