"""LPIPS, the perceptual distance of the original autoencoder, from weights that the user supplies.

Nothing is downloaded. The file is a safetensors file with the convolutions of a VGG16 under the
names that torchvision gives them (`features.0.weight`, ...) and, optionally, the calibration of
LPIPS (`lin0.model.1.weight`, ...); without it all channels have equal weights.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.core.checkpoint import CheckpointError

_STAGES = ((0, 2), (5, 7), (10, 12, 14), (17, 19, 21), (24, 26, 28))
"""Numbers of the convolutions in torchvision's VGG16; the size halves from stage to stage."""
_WIDTHS = (64, 128, 256, 512, 512)
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
"""Input normalization of LPIPS, for images in [-1, 1]: subtract the shift, divide by the scale."""


class LPIPS(nn.Module):
    """Distance of two images in the features of a classification network; never trained."""

    shift: Tensor
    scale: Tensor

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        """Load the convolutions, and the calibration if there is one."""
        super().__init__()
        self.register_buffer("shift", torch.tensor(_SHIFT)[:, None, None])
        self.register_buffer("scale", torch.tensor(_SCALE)[:, None, None])
        channels, self.stages, self.calibration = 3, nn.ModuleList(), nn.ParameterList()
        for index, (numbers, width) in enumerate(zip(_STAGES, _WIDTHS, strict=True)):
            # Convolutions
            stage = nn.Sequential()
            for number in numbers:
                conv = nn.Conv2d(channels, width, 3, padding=1)
                shapes = {"weight": tuple(conv.weight.shape), "bias": (width,)}
                conv.load_state_dict(
                    {
                        part: _get(weights, f"features.{number}.{part}", shape)
                        for part, shape in shapes.items()
                    }
                )
                stage.extend([conv, nn.ReLU()])
                channels = width
            self.stages.append(stage)

            # Channel weights
            name, shape = f"lin{index}.model.1.weight", (1, width, 1, 1)
            calibrated = name in weights
            channel_weights = (
                _get(weights, name, shape) if calibrated else torch.full(shape, 1 / width)
            )
            self.calibration.append(nn.Parameter(channel_weights))
        self.requires_grad_(False)

    @staticmethod
    def from_file(path: Path) -> "LPIPS":
        """Read a file of weights, or say what is wrong with it."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        if not path.is_file():
            raise CheckpointError(f"There are no weights for the perceptual distance at {path}.")
        try:
            return LPIPS(load_file(path))
        except SafetensorError as error:
            raise CheckpointError(
                f"{path} is not a safetensors file ({error}). Convert a VGG16 of torchvision with "
                "safetensors.torch.save_file(model.state_dict(), path)."
            ) from error

    def forward(self, images: Tensor, others: Tensor) -> Tensor:
        """Mean distance of images (N, 3, H, W) in [0, 1] and as many others."""
        a, b = ((2 * x - 1 - self.shift) / self.scale for x in (images, others))
        total = a.new_zeros(())
        for index, (stage, weight) in enumerate(zip(self.stages, self.calibration, strict=True)):
            if index:
                a, b = F.max_pool2d(a, 2), F.max_pool2d(b, 2)
            a, b = stage(a), stage(b)
            gap = (F.normalize(a, dim=1, eps=1e-10) - F.normalize(b, dim=1, eps=1e-10)).square()
            total = total + (weight * gap).sum(1).mean()
        return total


def _get(weights: Mapping[str, Tensor], name: str, shape: tuple[int, ...]) -> Tensor:
    if name not in weights or tuple(weights[name].shape) != shape:
        actual = tuple(weights[name].shape) if name in weights else "missing"
        raise CheckpointError(
            f"These are not the weights of a VGG16: '{name}' should be {shape}, but is {actual}."
        )
    return weights[name].float()
