"""Encoders in files: config, weights and what they were trained on."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from jostle.core.checkpoint import CheckpointError, load, load_into, save
from jostle.core.errors import JostleError
from jostle.core.protocols import Encoder
from jostle.encoders.catalog import (
    EncoderConfig,
    EncoderModel,
    build_encoder,
    kind_of,
    parse_config,
)

PREFIX = "encoder."
"""Prefix of the names of an encoder's tensors."""
_TRAINED, _AVERAGED = "encoder.model.", "encoder.ema."
"""The same in a checkpoint: the trained weights, and their averages if there are any."""


def describe(model: Encoder) -> dict[str, Any]:
    """Kind, config and shape of an encoder as JSON: the entry `encoder` of its file."""
    kind = kind_of(model.config)
    return {"kind": kind, "config": asdict(model.config), "shape": list(model.shape)}


def tensors_of(model: Encoder, prefix: str = PREFIX) -> dict[str, Tensor]:
    """Weights of an encoder, by name."""
    assert isinstance(model, nn.Module)
    return {f"{prefix}{name}": tensor for name, tensor in model.state_dict().items()}


def save_encoder(path: Path, model: Encoder, meta: dict[str, Any]) -> None:
    """Write an encoder atomically; `meta` is stored with it."""
    entry = {**describe(model), "hash": encoder_hash(model)}
    save(path, tensors_of(model), {**meta, "encoder": entry})


def load_encoder(path: Path) -> tuple[EncoderModel, dict[str, Any]]:
    """Read an encoder and the `meta` that was stored with it."""
    tensors, meta = load_tensors(path)
    return read_encoder(tensors, meta, path), meta


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors of an encoder and the `meta` of its file, which may be a checkpoint."""
    tensors, meta = load(path)
    if "parts" not in meta:
        return tensors, meta
    averaged = any(name.startswith(_AVERAGED) for name in tensors)
    prefix = _AVERAGED if averaged else _TRAINED
    own = {
        f"{PREFIX}{name.removeprefix(prefix)}": tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
    return own, meta


def read_encoder(tensors: Mapping[str, Tensor], meta: dict[str, Any], path: Path) -> EncoderModel:
    """Build an encoder from the tensors of a file."""
    kind, config = read_entry(meta, path)
    model = build_encoder(kind, config)
    load_into(model, tensors, PREFIX, f"{kind} in {path}")
    return model.requires_grad_(False).eval()


def read_entry(meta: dict[str, Any], path: Path) -> tuple[str, EncoderConfig]:
    """Kind and config of the encoder in a file; anything else is refused."""
    entry = meta.get("encoder")
    if "experiment" in meta or not isinstance(entry, dict):
        content = "holds an agent" if "experiment" in meta else "does not say what it holds"
        raise CheckpointError(
            f"{path} {content}, but an encoder is expected ('jostle pretrain' makes them)."
        )
    try:
        return entry["kind"], parse_config(entry["kind"], entry["config"])
    except (JostleError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"The encoder in {path} does not fit this version of the package: {error}"
        ) from error


def encoder_hash(model: Encoder) -> str:
    """Hash of an encoder's weights, by which agents refer to the encoder they were trained with."""
    assert isinstance(model, nn.Module)
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def encoder_reference(name: str, model: Encoder) -> dict[str, Any]:
    """What an agent's file keeps of its encoder: its weights are stored once, elsewhere."""
    return {
        "name": name,
        "hash": encoder_hash(model),
        "kind": kind_of(model.config),
        "image_size": model.config.image_size,
    }
