"""Layers with an extra first axis C: several copies of a network in one pass.

An actor has C = 1; the twin critics are C = 2 and share every call instead of being called twice.
"""

import math
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jostle.nets.chain import chain


class Linear(nn.Module):
    """C independent linear maps, started as torch starts its own."""

    def __init__(self, inputs: int, outputs: int, copies: int = 1, bias: bool = True) -> None:
        """Map `inputs` features to `outputs`."""
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(copies, outputs, inputs).uniform_(-bound, bound))
        self.bias = (
            nn.Parameter(torch.empty(copies, outputs).uniform_(-bound, bound)) if bias else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (C, ..., inputs) to (C, ..., outputs); C = 1 is broadcast to all copies."""
        if self.weight.shape[0] == 1:
            return F.linear(x, self.weight[0], None if self.bias is None else self.bias[0])
        copies = self.weight.shape[0]
        flat = x.expand(copies, *x.shape[1:]).reshape(copies, -1, x.shape[-1])  # (C, R, in)
        weight = self.weight.transpose(1, 2)  # (C, in, out)
        if self.bias is None:
            out = torch.bmm(flat, weight)
        else:
            out = torch.baddbmm(self.bias[:, None], flat, weight)
        return out.view(copies, *x.shape[1:-1], -1)


class LayerNorm(nn.Module):
    """C independent layer norms."""

    def __init__(self, width: int, copies: int = 1) -> None:
        """Normalize the last axis."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(copies, width))
        self.bias = nn.Parameter(torch.zeros(copies, width))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize (C, ..., width)."""
        if self.weight.shape[0] == 1:
            return F.layer_norm(x, x.shape[-1:], self.weight[0], self.bias[0])
        copies = zip(x.unbind(), self.weight.unbind(), self.bias.unbind(), strict=True)
        return torch.stack([F.layer_norm(one, one.shape[-1:], w, b) for one, w, b in copies])


class MLP(nn.Module):
    """Linear maps with ReLU between them."""

    def __init__(self, widths: tuple[int, ...], copies: int = 1) -> None:
        """Go through `widths`, first the inputs, last the outputs."""
        super().__init__()
        self.layers = nn.ModuleList(Linear(a, b, copies) for a, b in pairwise(widths))

    def forward(self, x: Tensor) -> Tensor:
        """Map (C, ..., first), or (1, ..., first) for all copies, to (C, ..., last)."""
        if not torch.is_autocast_enabled(x.device.type):
            layers = cast("list[Linear]", self.layers)
            return chain(x, [one.weight for one in layers], [one.bias for one in layers])
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)
