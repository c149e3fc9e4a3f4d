"""Convolution blocks and the glimpse encoder, building blocks of the particle model."""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from jostle.encoders.dlp_config import ConvStack, DLPConfig


class ConvBlock(nn.Module):
    """Convolution without bias, group norm, ReLU, and optionally upsampling by 2."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        config: DLPConfig,
        *,
        kernel: int = 3,
        stride: int = 1,
        norm: bool = True,
        upsample: bool = False,
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
        self._upsample = upsample

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, inputs, h, w) to (N, outputs, h', w')."""
        x = F.relu(self.norm(self.conv(x)), inplace=True)
        if self._upsample:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return x


def conv_stack(
    convs: ConvStack, maps: int, config: DLPConfig, first_kernel: int = 3
) -> nn.Sequential:
    """Stack convolution blocks, and a plain 1 × 1 convolution to `maps` maps (0: none)."""
    layers: list[nn.Module] = []
    channels = 3
    for index, (outputs, stride) in enumerate(convs):
        kernel = 3 if index else first_kernel
        layers.append(ConvBlock(channels, outputs, config, kernel=kernel, stride=stride))
        channels = outputs
    if maps:
        layers.append(nn.Conv2d(channels, maps, 1))
    return nn.Sequential(*layers)


def conv_output_size(convs: ConvStack, maps: int, side: int) -> int:
    """Size of the flattened output of `conv_stack` for an image of `side` × `side` pixels."""
    for _, stride in convs:
        side = (side - 1) // stride + 1
    return (maps or convs[-1][0]) * side**2


def mlp(widths: tuple[int, ...]) -> nn.Sequential:
    """Linear layers, each followed by a ReLU."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class GlimpseEncoder(nn.Module):
    """Encode glimpses: convolutions, hidden layers, and one linear head for all outputs."""

    def __init__(self, config: DLPConfig, outputs: int) -> None:
        """Predict `outputs` numbers per glimpse."""
        super().__init__()
        self.convs = conv_stack(config.glimpse_convs, config.glimpse_maps, config)
        width = conv_output_size(config.glimpse_convs, config.glimpse_maps, config.glimpse_size)
        self.bottleneck = nn.Linear(width, config.bottleneck) if config.bottleneck else None
        self.trunk = mlp((config.bottleneck or width, *config.trunk))
        self.head = nn.Linear(config.trunk[-1], outputs)

    def forward(self, glimpses: Tensor) -> Tensor:
        """Map glimpses (N, K, 3, S, S) to (N, K, outputs)."""
        flat = self.convs(glimpses.flatten(0, 1)).flatten(1)  # (NK, width)
        if self.bottleneck is not None:
            flat = self.bottleneck(flat)
        outputs = self.head(self.trunk(flat)).float()  # full precision also under autocast
        return outputs.view(*glimpses.shape[:2], -1)


def init_weights(module: nn.Module, std: float) -> None:
    """Draw all convolution weights from N(0, std²); biases start at zero."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.normal_(part.weight, 0.0, std)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
