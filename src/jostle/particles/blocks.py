"""Convolution blocks and the reader of glimpses, from which all parts are built."""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from jostle.particles.config import DLPConfig, Plan


class Block(nn.Module):
    """Convolution without bias, group norm, ReLU, and perhaps twice the size."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        config: DLPConfig,
        *,
        kernel: int = 3,
        stride: int = 1,
        norm: bool = True,
        double: bool = False,
    ) -> None:
        """Map `inputs` channels to `outputs`."""
        super().__init__()
        self.conv = nn.Conv2d(
            inputs,
            outputs,
            kernel,
            stride,
            padding=kernel // 2,
            padding_mode=config.padding,
            bias=False,
        )
        groups = 4 if outputs % 4 == 0 else 5
        self.norm = nn.GroupNorm(groups, outputs, eps=config.norm_eps) if norm else nn.Identity()
        self._double = double

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, inputs, h, w) to (N, outputs, h', w')."""
        x = F.relu(self.norm(self.conv(x)))
        if self._double:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return x


def convolutions(plan: Plan, maps: int, config: DLPConfig, first_kernel: int = 3) -> nn.Sequential:
    """Convolve images by `plan`, then to `maps` maps by a bare 1 × 1 convolution (0: without)."""
    layers: list[nn.Module] = []
    channels = 3
    for index, (outputs, stride) in enumerate(plan):
        kernel = 3 if index else first_kernel
        layers.append(Block(channels, outputs, config, kernel=kernel, stride=stride))
        channels = outputs
    if maps:
        layers.append(nn.Conv2d(channels, maps, 1))
    return nn.Sequential(*layers)


def convolved(plan: Plan, maps: int, side: int) -> int:
    """Numbers that `convolutions` makes of an image of `side` × `side` pixels."""
    for _, stride in plan:
        side = (side - 1) // stride + 1
    return (maps or plan[-1][0]) * side**2


def mlp(widths: tuple[int, ...]) -> nn.Sequential:
    """Linear maps, each with ReLU behind it."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class GlimpseReader(nn.Module):
    """Read glimpses: convolutions, hidden layers, and one linear head for all that is asked."""

    def __init__(self, config: DLPConfig, outputs: int) -> None:
        """Answer with `outputs` numbers per glimpse."""
        super().__init__()
        self.convs = convolutions(config.glimpse_plan, config.glimpse_maps, config)
        width = convolved(config.glimpse_plan, config.glimpse_maps, config.glimpse)
        self.bottleneck = nn.Linear(width, config.bottleneck) if config.bottleneck else None
        self.trunk = mlp((config.bottleneck or width, *config.trunk))
        self.head = nn.Linear(config.trunk[-1], outputs)

    def forward(self, glimpses: Tensor) -> Tensor:
        """Map glimpses (N, K, 3, S, S) to answers (N, K, outputs)."""
        flat = self.convs(glimpses.flatten(0, 1)).flatten(1)  # (NK, width)
        if self.bottleneck is not None:
            flat = self.bottleneck(flat)
        answers = self.head(self.trunk(flat)).float()  # beliefs are never rounded
        return answers.unflatten(0, glimpses.shape[:2])


def start(module: nn.Module, deviation: float) -> None:
    """Draw all convolution weights from a narrow Gaussian; biases start at zero."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.normal_(part.weight, 0.0, deviation)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
