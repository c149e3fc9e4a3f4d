"""Where networks compute, how batches get there, and in which precision."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from jostle.core.errors import BadValueError

Precision = Literal["full", "tf32", "bf16"]
Compile = Literal["off", "default", "cuda-graphs"]
_ALIGNMENT = 16
"""Bytes that each tensor of a packed batch starts at a multiple of."""
_CPU_SCENES = 4
"""Scenes that are encoded at once on a CPU: larger batches fall out of its caches."""
_MAX_SCENES = 1024
"""Scenes that are encoded at once on any other device, at most."""
_UNKNOWN_MEMORY = 2**31
"""Bytes to use on devices that do not tell how much is free."""
_BYTES_PER_PIXEL = 1024
"""Memory that encoding takes for a pixel of one view: 64 channels of float32, four times."""


def resolve_device(name: str) -> torch.device:
    """Turn auto, cpu, cuda, cuda:1 or mps into a device that is there."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise BadValueError(
            f"There is no device '{name}'. Say auto, cpu, cuda, cuda:1 or mps."
        ) from error
    available = {
        "cpu": True,
        "cuda": (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not available.get(device.type, False):
        raise BadValueError(
            f"torch has no device '{name}' on this machine: use --device cpu or --device auto."
        )
    return device


def move_tensors(tensors: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """Move several tensors by one copy: packed on the CPU, in pinned memory on the way to CUDA.

    The copy does not wait for the device. What comes back are views of one buffer.
    """
    # Pack
    sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + math.ceil(size / _ALIGNMENT) * _ALIGNMENT)
    buffer = torch.empty(starts[-1], dtype=torch.uint8, pin_memory=device.type == "cuda")
    for tensor, start, size in zip(tensors, starts, sizes, strict=False):
        buffer[start : start + size].copy_(tensor.reshape(-1).view(torch.uint8))

    # Move and unpack
    moved = buffer.to(device, non_blocking=True)
    return [
        moved[start : start + size].view(tensor.dtype).view(tensor.shape)
        for tensor, start, size in zip(tensors, starts, sizes, strict=False)
    ]


def move_frames(frames: Tensor, device: torch.device) -> Tensor:
    """Move frames from the CPU; through pinned memory on the way to CUDA, without waiting."""
    if device.type == "cuda":
        frames = frames.pin_memory()
    return frames.to(device, non_blocking=True)


def scenes_at_once(device: torch.device, views: int, image_size: int) -> int:
    """How many scenes to encode at once: few on a CPU, else what half the free memory holds."""
    if device.type == "cpu":
        return _CPU_SCENES
    free = torch.cuda.mem_get_info(device)[0] // 2 if device.type == "cuda" else _UNKNOWN_MEMORY
    fitting = free // (_BYTES_PER_PIXEL * views * image_size**2)
    return max(1, min(_MAX_SCENES, fitting))


def set_matmul_precision(precision: Precision, device: torch.device) -> None:
    """Let GPUs multiply float32 matrices in TF32 if asked for; other devices know no TF32."""
    if device.type == "cuda":
        tf32 = precision == "tf32"
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = tf32


def compile_modules(modules: Sequence[nn.Module], how: Compile) -> None:
    """Let torch.compile compile modules when they first run, if asked for."""
    if how != "off":
        for module in modules:
            module.compile(mode="reduce-overhead" if how == "cuda-graphs" else "default")
