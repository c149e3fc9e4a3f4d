"""Where networks compute."""

import torch

from jostle.core.errors import BadValueError


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
