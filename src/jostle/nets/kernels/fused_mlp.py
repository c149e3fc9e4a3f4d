"""All layers of an MLP as one operation, forward and backward by hand.

ReLU and its gradient are computed in place, nothing is copied between two matrix products, and
gradients that are not needed are not computed.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def fused_mlp(x: Tensor, weights: list[Tensor], biases: Sequence[Tensor | None]) -> Tensor:
    """Map (C, ..., first) to (C, ..., last) with weights (C, out, in) and biases (C, out).

    An input with C = 1 is given to all networks of the ensemble.
    """
    ensemble = weights[0].shape[0]
    rows = x.expand(ensemble, *x.shape[1:]).reshape(ensemble, -1, x.shape[-1])  # (C, R, first)
    out: Tensor = _FusedMLP.apply(rows, *weights, *biases)  # type: ignore[no-untyped-call]
    return out.view(ensemble, *x.shape[1:-1], weights[-1].shape[1])


class _FusedMLP(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *parameters: Tensor) -> Tensor:
        """Map (C, R, first) to (C, R, last)."""
        count = len(parameters) // 2
        weights, biases = parameters[:count], parameters[count:]
        activations = [x]  # the input of each layer
        for weight, bias in zip(weights, biases, strict=True):
            activations.append(
                torch.baddbmm(bias[:, None], activations[-1], weight.transpose(1, 2))
            )
            if len(activations) <= count:
                activations[-1].relu_()
        ctx.save_for_backward(*weights, *activations[:-1])
        return activations[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the input, the weights and the biases, as far as they are needed."""
        count = len(ctx.saved_tensors) // 2
        weights, activations = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        needed = ctx.needs_input_grad
        grads: list[Tensor | None] = [None] * (1 + 2 * count)
        for i in reversed(range(count)):
            if needed[1 + i]:
                grads[1 + i] = torch.bmm(grad.transpose(1, 2), activations[i])
            if needed[1 + count + i]:
                grads[1 + count + i] = grad.sum(1)
            if i > 0 or needed[0]:
                grad = torch.bmm(grad, weights[i])
            if i > 0:  # the gradient of ReLU
                torch.ops.aten.threshold_backward.grad_input(
                    grad, activations[i], 0, grad_input=grad
                )
        grads[0] = grad if needed[0] else None
        return tuple(grads)
