"""Data parallel: several processes, started by torchrun, share each batch.

Every process draws the noise of the joint batch and uses its own rows, so that the losses are those
of one process up to rounding, and one checkpoint resumes all of them.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.overrides import TorchFunctionMode

from jostle.core.devices import resolve_device
from jostle.core.errors import require
from jostle.core.protocols import Encoder
from jostle.frames.batches import Indices
from jostle.runs.trainer import Report, StopRequested

_ROW_NOISE = (Tensor.normal_, Tensor.uniform_)
"""How encoders draw noise: in place, first axis the images of the batch."""


@dataclass(frozen=True)
class Ranks:
    """Which of several processes this is."""

    rank: int = 0
    size: int = 1

    @property
    def main(self) -> bool:
        """Whether this process validates and writes."""
        return self.rank == 0

    def rows(self, scenes: Indices) -> Indices:
        """The scenes of a batch that this process reads: no other process reads them."""
        each = len(scenes) // self.size
        return scenes[self.rank * each : (self.rank + 1) * each]

    def mean(self, log: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Means of metrics over all processes."""
        if self.size == 1:
            return dict(log)
        values = torch.stack([value.detach().float() for value in log.values()])
        dist.all_reduce(values)
        return dict(zip(log, values / self.size, strict=True))

    def joint_noise(self, noise: torch.Generator) -> AbstractContextManager[Any]:
        """Within this, `noise` draws the rows of this process out of those of the joint batch."""
        return nullcontext() if self.size == 1 else _JointNoise(self, noise)

    def agreed(self, report: Report) -> Report:
        """A report of the main process alone; if it stops the training, all processes stop."""
        if self.size == 1:
            return report

        def report_together(row: dict[str, Any]) -> None:
            stop = torch.zeros(())
            if self.main:
                try:
                    report(row)
                except StopRequested:
                    stop += 1
            if "warning" in row:  # not all processes have the same warnings
                return
            dist.broadcast(stop, 0)
            if stop:
                raise StopRequested

        return report_together


def reports() -> bool:
    """Whether this process prints: the first one of torchrun, or the only one."""
    return int(os.environ.get("RANK", "0")) == 0


def join_ranks(device_name: str) -> tuple[Ranks, torch.device]:
    """This process among those of torchrun, or alone; and the device it computes on."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    device = resolve_device(device_name)
    if size == 1:
        return Ranks(), device
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    require(device.type in ("cpu", "cuda"), f"torchrun does not work with {device.type}.")
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Ranks(dist.get_rank(), size), device


def parallel_loss(model: Encoder, ranks: Ranks, device: torch.device) -> Callable[..., Any]:
    """The loss of an encoder; its gradients are the means over all processes."""
    if ranks.size == 1:
        return model.loss
    wrapper = nn.parallel.DistributedDataParallel
    known = inspect.signature(wrapper).parameters
    buffers = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    options: dict[str, Any] = {buffers: False}  # newer versions of torch renamed it
    return wrapper(
        _Loss(model),
        device_ids=[device.index] if device.type == "cuda" else None,
        find_unused_parameters=True,
        **options,
    )


class _Loss(nn.Module):
    """The loss of an encoder as the forward pass of a module, which is what DDP wraps."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any) -> Any:
        """Loss and its terms."""
        return self.model.loss(*args)


class _JointNoise(TorchFunctionMode):
    """Draws noise for the joint batch and keeps the rows of one process."""

    def __init__(self, ranks: Ranks, noise: torch.Generator) -> None:
        super().__init__()
        self._ranks, self._noise = ranks, noise

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("generator") is not self._noise:
            return func(*args, **kwargs)
        if func is torch.randint:  # a seed for a library's own generator: each process has its own
            return func(*args, **kwargs) + self._ranks.rank
        require(func in _ROW_NOISE, f"{func} draws noise in a way that torchrun does not know.")
        own, count = args[0], len(args[0])
        joint = own.new_empty((self._ranks.size * count, *own.shape[1:]))
        func(joint, *args[1:], **kwargs)
        return own.copy_(joint[self._ranks.rank * count : (self._ranks.rank + 1) * count])
