"""Layers with an extra first axis C: the networks of an ensemble in one pass.

An actor has C = 1. Twin critics have C = 2 and share every call instead of being called twice.
"""

import math
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.nets import kernels
from jostle.nets.kernels.fused_mlp import fused_mlp


class Linear(nn.Module):
    """C independent linear maps, initialized like `torch.nn.Linear`."""

    def __init__(self, inputs: int, outputs: int, ensemble: int = 1, bias: bool = True) -> None:
        """Map `inputs` features to `outputs`."""
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(ensemble, outputs, inputs).uniform_(-bound, bound))
        self.bias = (
            nn.Parameter(torch.empty(ensemble, outputs).uniform_(-bound, bound)) if bias else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (C, ..., inputs), or (1, ..., inputs) for all, to (C, ..., outputs)."""
        ensemble = self.weight.shape[0]
        if ensemble == 1:
            return F.linear(x, self.weight[0], None if self.bias is None else self.bias[0])
        rows = x.expand(ensemble, *x.shape[1:]).reshape(ensemble, -1, x.shape[-1])  # (C, R, in)
        weight = self.weight.transpose(1, 2)  # (C, in, out)
        if self.bias is None:
            out = torch.bmm(rows, weight)
        else:
            out = torch.baddbmm(self.bias[:, None], rows, weight)
        return out.view(ensemble, *x.shape[1:-1], -1)


class LayerNorm(nn.Module):
    """C independent layer norms."""

    def __init__(self, size: int, ensemble: int = 1) -> None:
        """Normalize the last axis, of `size` features."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ensemble, size))
        self.bias = nn.Parameter(torch.zeros(ensemble, size))
        self._shape = (size,)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize (C, ..., size)."""
        if self.weight.shape[0] == 1:
            return F.layer_norm(x, self._shape, self.weight[0], self.bias[0])
        networks = zip(x.unbind(), self.weight.unbind(), self.bias.unbind(), strict=True)
        return torch.stack([F.layer_norm(part, self._shape, w, b) for part, w, b in networks])


class MLP(nn.Module):
    """Linear layers with ReLU between them."""

    def __init__(self, sizes: tuple[int, ...], ensemble: int = 1) -> None:
        """Build layers between `sizes`, from the inputs to the outputs."""
        super().__init__()
        self.layers = nn.ModuleList(Linear(a, b, ensemble) for a, b in pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        """Map (C, ..., first), or (1, ..., first) for all, to (C, ..., last)."""
        if kernels.enabled(x) and not torch.is_autocast_enabled(x.device.type):
            layers = cast("list[Linear]", self.layers)
            return fused_mlp(
                x, [layer.weight for layer in layers], [layer.bias for layer in layers]
            )
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)
