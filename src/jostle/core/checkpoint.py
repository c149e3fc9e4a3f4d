"""Tensors and JSON in one safetensors file: written at once or not at all, never a pickle."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.core.checksums import damaged, verify_file
from jostle.core.errors import CheckpointError as CheckpointError
from jostle.core.file_format import FORMAT, OLD_FORMAT, UPGRADE


def save(path: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
    """Write a checkpoint; a crash or a full disk leaves the old file as it was."""
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(meta, sort_keys=True)
    header = {"format": FORMAT, "meta": text, "sha256": _checksum(contiguous, text)}
    try:
        save_file(contiguous, part, header)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise CheckpointError(
            f"{path} could not be written ({error}); the previous one is untouched."
        ) from error


def load(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a checkpoint: its tensors and its JSON; a damaged one is refused.

    Files of earlier versions have no checksum inside; those of the zoo have one beside them.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise CheckpointError(f"There is no checkpoint at {path}.")
    try:
        with safe_open(path, framework="pt") as opened:
            header = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        version = header.get("format")
        if version == OLD_FORMAT:
            raise CheckpointError(
                f"{path} has the old format {OLD_FORMAT}: rewrite it by '{UPGRADE}'."
            )
        if version != FORMAT:
            raise CheckpointError(
                f"{path} is not of this package or version: it says {version!r}, not {FORMAT!r}."
            )
        _verify(path, tensors, header)
        return tensors, json.loads(header["meta"])
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} is damaged or no checkpoint: {error}.") from error


def _verify(path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, str]) -> None:
    """Compare a file with the checksum beside it, else its content with the one inside it."""
    if verify_file(path) or "sha256" not in header:
        return
    if header["sha256"] != _checksum(tensors, header["meta"]):
        raise damaged(path)


def _checksum(tensors: Mapping[str, Tensor], meta: str) -> str:
    """SHA-256 of names, types, shapes and bytes of contiguous tensors, and of the JSON."""
    digest = hashlib.sha256(meta.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\0{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_into(
    module: torch.nn.Module, tensors: Mapping[str, Tensor], prefix: str, what: str
) -> None:
    """Load the tensors under `prefix` into a module; names and shapes must fit exactly."""
    own = module.state_dict()
    given = {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
    for name, tensor in own.items():
        if name not in given:
            raise CheckpointError(f"The weights of {what} lack '{name}': another kind of network?")
        if given[name].shape != tensor.shape:
            raise CheckpointError(
                f"The weights of {what} do not fit: '{name}' is {tuple(given[name].shape)} there "
                f"and {tuple(tensor.shape)} here. Another width or task?"
            )
    if extra := set(given) - set(own):
        raise CheckpointError(f"The weights of {what} hold more than fits: {sorted(extra)[:3]}.")
    module.load_state_dict(given)


def optimizer_tensors(optimizer: torch.optim.Optimizer, prefix: str) -> dict[str, Tensor]:
    """The state of an optimizer, by parameter number and key."""
    return {
        f"{prefix}{index}.{key}": torch.as_tensor(value)
        for index, entry in optimizer.state_dict()["state"].items()
        for key, value in entry.items()
    }


def optimizer_state(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], prefix: str
) -> dict[str, Any]:
    """A state dict for an optimizer of what `optimizer_tensors` returned."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith(prefix):
            index, key = name.removeprefix(prefix).split(".")
            like = parameters[int(index)]
            if tensor.shape == like.shape and key != "step":  # the parameter's own memory format
                tensor = torch.empty_like(like, requires_grad=False).copy_(tensor)
            state.setdefault(int(index), {})[key] = tensor
    return {**optimizer.state_dict(), "state": state}


def pack_rng(rng: np.random.Generator) -> str:
    """Write the state of a numpy generator as JSON."""
    return json.dumps(rng.bit_generator.state)


def unpack_rng(rng: np.random.Generator, text: str) -> None:
    """Put a numpy generator back to a saved state."""
    rng.bit_generator.state = json.loads(text)
