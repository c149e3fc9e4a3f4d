"""Linear maps with ReLU between them, forward and back written out.

ReLU and its slope are taken in place, nothing is copied between two products, and gradients that
nobody wants are not computed.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def chain(x: Tensor, weights: list[Tensor], biases: Sequence[Tensor | None]) -> Tensor:
    """Map (C, ..., first) to (C, ..., last) with weights (C, out, in) and biases (C, out).

    C = 1 of the input is broadcast to all copies.
    """
    copies = weights[0].shape[0]
    rows = x.expand(copies, *x.shape[1:]).reshape(copies, -1, x.shape[-1])  # (C, R, first)
    out: Tensor = _Chain.apply(rows, *weights, *biases)  # type: ignore[no-untyped-call]
    return out.view(copies, *x.shape[1:-1], -1)


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *parameters: Tensor) -> Tensor:
        """Map (C, R, first) to (C, R, last)."""
        count = len(parameters) // 2
        weights, biases = parameters[:count], parameters[count:]
        flows = [x]  # what comes into each layer
        for weight, bias in zip(weights, biases, strict=True):
            flows.append(torch.baddbmm(bias[:, None], flows[-1], weight.transpose(1, 2)))
            if len(flows) <= count:
                flows[-1].relu_()
        ctx.save_for_backward(*weights, *flows[:-1])
        return flows[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        """Slopes of the input, the weights and the biases, as far as they are wanted."""
        count = len(ctx.saved_tensors) // 2
        weights, flows = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        wanted = ctx.needs_input_grad
        slopes: list[Tensor | None] = [None] * (1 + 2 * count)
        for i in reversed(range(count)):
            if wanted[1 + i]:
                slopes[1 + i] = torch.bmm(slope.transpose(1, 2), flows[i])
            if wanted[1 + count + i]:
                slopes[1 + count + i] = slope.sum(1)
            if i > 0 or wanted[0]:
                slope = torch.bmm(slope, weights[i])
            if i > 0:
                torch.ops.aten.threshold_backward.grad_input(slope, flows[i], 0, grad_input=slope)
        slopes[0] = slope if wanted[0] else None
        return tuple(slopes)
