"""Faster ways on the CPU to compute what the networks define; and the one switch for all of them.

The networks are defined by `attention.py`, `layers.py` and `eit.py`, and run as written on every
device but the CPU. On the CPU these kernels take over, which differ by rounding only:

- `packing`: leaves out entities that are not visible, and sorts a batch by set size.
- `small_attention`: attention over at most 12 entities, forward and backward by hand.
- `attention`: chooses how to compute attention by the size of the sets.
- `factored`: relative positions of large sets without an array of all pairs.
- `fused_mlp`: all layers of an MLP as one operation, forward and backward by hand.

Kernels look at masks to choose what to do. The networks without kernels never do: their sets have
a fixed size, and no value of a tensor decides which operations run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor

_ENABLED = ContextVar("kernels", default=True)


@contextmanager
def use_kernels(enabled: bool) -> Iterator[None]:
    """Turn kernels on (the default) or off for the networks that run inside a `with` statement."""
    token = _ENABLED.set(enabled)
    try:
        yield
    finally:
        _ENABLED.reset(token)


def enabled(x: Tensor) -> bool:
    """Whether kernels compute what depends on `x`: they are on, and it is on the CPU."""
    return x.device.type == "cpu" and _ENABLED.get()
