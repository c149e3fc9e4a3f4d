"""Batches reach a device by one copy, unchanged; encoders get as many scenes as fit."""

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from jostle.core.devices import move_tensors, resolve_device, scenes_at_once  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402

CPU, META = torch.device("cpu"), torch.device("meta")


class CopyCounter(TorchDispatchMode):
    """Counts copies from one device to another."""

    def __init__(self):
        super().__init__()
        self.copies = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.copies += func is torch.ops.aten._to_copy.default and kwargs.get("device") == META
        return func(*args, **kwargs)


def tensors():
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(3, 5, generator=generator),
        torch.rand(7, generator=generator) > 0.5,
        torch.randn(4, 3, generator=generator).T,  # not contiguous
        torch.empty(0, 2),
        torch.arange(5),
    ]


def test_tensors_that_were_moved_together_are_unchanged():
    for before, after in zip(tensors(), move_tensors(tensors(), CPU), strict=True):
        assert after.dtype == before.dtype
        assert torch.equal(after, before)


def test_tensors_of_all_types_move_by_one_copy():
    with CopyCounter() as counter:
        moved = move_tensors(tensors(), META)
    assert counter.copies == 1
    assert [x.shape for x in moved] == [x.shape for x in tensors()]
    assert {x.device for x in moved} == {META}


def test_encoders_get_few_scenes_on_a_cpu_and_more_on_other_devices_unless_images_are_huge():
    assert scenes_at_once(CPU, 2, 128) < scenes_at_once(META, 2, 128)
    assert scenes_at_once(META, 2, 128) > scenes_at_once(META, 2, 512)
    assert scenes_at_once(META, 2, 100_000) == 1


def test_devices_that_are_not_there_are_refused():
    for name in ("cuda:99", "tpu", "meta"):
        with pytest.raises(BadValueError, match=r"--device|auto"):
            resolve_device(name)
