"""How sharp attention is: a sign of critics that collapse onto one entity, or look at none.

Shapes: C networks of an ensemble, B sets, h heads, Q queries, S context entities.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from jostle.nets import kernels
from jostle.nets.attention import Attention


@torch.no_grad()
def attention_entropy(network: nn.Module, run: Callable[[], Any]) -> Tensor | None:
    """Mean entropy of all attention in `network` while `run` runs it, over heads and queries.

    Divided by its largest value, the logarithm of the number of visible entities: 1 is attention
    to all alike, 0 to one alone. Sets with a single visible entity do not count; None if there
    are no others.
    """
    sums: list[Tensor] = []
    counts: list[Tensor] = []
    queries_of_sets: list[Tensor] = []

    def measure(_: nn.Module, inputs: tuple[Any, ...], outputs: tuple[Tensor, Tensor]) -> None:
        query, context, visible, weights = *inputs[:3], outputs[1]
        if query is context:
            queries_of_sets[:] = [visible]  # self-attention: padding attends, too, for nothing
        present = torch.ones(query.shape[1:3], dtype=torch.bool, device=query.device)  # (B, Q)
        if queries_of_sets and queries_of_sets[0].shape == present.shape:
            present = queries_of_sets[0]
        keys = visible.sum(1)  # (B,)
        counted = present & (keys > 1)[:, None]
        entropy = -torch.xlogy(weights, weights).sum(-1).mean((0, 2))  # (B, Q)
        relative = entropy / keys.clamp(min=2).log()[:, None]
        sums.append((relative * counted).sum())
        counts.append(counted.sum())

    layers = [module for module in network.modules() if isinstance(module, Attention)]
    hooks = [layer.register_forward_hook(measure) for layer in layers]
    try:
        with kernels.use_kernels(False):  # some kernels have no weights
            run()
    finally:
        for hook in hooks:
            hook.remove()
    total = torch.stack(counts).sum() if counts else torch.zeros(())
    return torch.stack(sums).sum() / total if total > 0 else None
