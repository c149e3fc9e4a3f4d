"""Cropping and pasting by matrix products equals plain bilinear sampling."""

import pytest

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

from jostle.encoders.glimpse import boxes_mask, crop, paste, paste_sum  # noqa: E402


def plain_crop(images, position, box, side, border="zeros"):
    """The textbook formula: one copy of the image and one grid per glimpse."""
    n, k = position.shape[:2]
    steps = torch.linspace(-1, 1, side, dtype=images.dtype)
    y = position[..., 0, None] + box[..., 0, None] * steps
    x = position[..., 1, None] + box[..., 1, None] * steps
    grid = torch.stack(
        (x[:, :, None].expand(n, k, side, side), y[..., None].expand(n, k, side, side)), -1
    )
    copies = images[:, None].expand(n, k, *images.shape[1:]).flatten(0, 1)
    cropped = F.grid_sample(
        copies, grid.flatten(0, 1), padding_mode=border, align_corners=True, mode="bilinear"
    )
    return cropped.unflatten(0, (n, k))


def plain_paste(patches, position, box, size):
    n, k = position.shape[:2]
    h, w = size
    y = (torch.linspace(-1, 1, h, dtype=patches.dtype) - position[..., 0, None]) / box[..., 0, None]
    x = (torch.linspace(-1, 1, w, dtype=patches.dtype) - position[..., 1, None]) / box[..., 1, None]
    grid = torch.stack((x[:, :, None].expand(n, k, h, w), y[..., None].expand(n, k, h, w)), -1)
    pasted = F.grid_sample(patches.flatten(0, 1), grid.flatten(0, 1), align_corners=True)
    return pasted.unflatten(0, (n, k))


def scene(n=2, k=5, height=24, width=20, side=8):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(n, 3, height, width, generator=generator).double()
    patches = torch.rand(n, k, 4, side, side, generator=generator).double()
    position = (2.4 * torch.rand(n, k, 2, generator=generator) - 1.2).double()  # some hang outside
    box = (0.1 + 0.4 * torch.rand(n, k, 2, generator=generator)).double()
    return [tensor.requires_grad_() for tensor in (images, patches, position, box)]


def assert_same(ours, theirs, inputs):
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    weight = torch.rand(ours.shape, generator=torch.Generator().manual_seed(1)).double()
    mine = torch.autograd.grad((ours * weight).sum(), inputs)
    other = torch.autograd.grad((theirs * weight).sum(), inputs)
    for a, b in zip(mine, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("ours", "theirs"), [("zeros", "zeros"), ("edge", "border")])
def test_a_crop_is_bilinear_sampling_in_values_and_gradients(ours, theirs):
    images, _, position, box = scene()
    assert_same(
        crop(images, position, box, 8, ours),
        plain_crop(images, position, box, 8, theirs),
        (images, position, box),
    )


def test_a_paste_is_bilinear_sampling_in_values_and_gradients():
    _, patches, position, box = scene()
    assert_same(
        paste(patches, position, box, (24, 20)),
        plain_paste(patches, position, box, (24, 20)),
        (patches, position, box),
    )


def test_a_summed_paste_is_the_sum_of_pastes():
    _, patches, position, box = scene()
    assert_same(
        paste_sum(patches, position, box, (24, 20)),
        plain_paste(patches, position, box, (24, 20)).sum(1),
        (patches, position, box),
    )


def test_single_precision_is_precise_enough():
    images, patches, position, box = (t.detach().float() for t in scene(height=128, width=128))
    torch.testing.assert_close(
        crop(images, position, box, 32), plain_crop(images, position, box, 32), rtol=0, atol=1e-4
    )
    torch.testing.assert_close(
        paste_sum(patches, position, box, (128, 128)),
        plain_paste(patches, position, box, (128, 128)).sum(1),
        rtol=0,
        atol=1e-4,
    )


def test_pasting_a_crop_restores_the_image():
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(1, 3, 33, 33, generator=generator)
    position, box = torch.zeros(1, 1, 2), torch.full((1, 1, 2), 0.5)  # pixels 8 to 24
    pasted = paste(crop(images, position, box, 17), position, box, (33, 33))[0, 0]
    torch.testing.assert_close(pasted[:, 8:25, 8:25], images[0, :, 8:25, 8:25], rtol=0, atol=1e-5)
    assert pasted[:, :8].abs().max() < 1e-5
    assert pasted[:, :, 25:].abs().max() < 1e-5


def test_positions_of_glimpses_are_vertical_first():
    images = torch.zeros(1, 1, 11, 11)
    images[0, 0, 8, 2] = 1.0
    position = torch.tensor([[[0.6, -0.6]]])  # row 8, column 2
    glimpse = crop(images, position, torch.full((1, 1, 2), 0.2), 3)
    assert glimpse[0, 0, 0, 1, 1] == pytest.approx(1.0, abs=1e-5)
    assert glimpse.sum() == pytest.approx(1.0, abs=1e-4)


def test_the_boxes_mask_is_nonzero_inside_the_boxes_only():
    position, weight = torch.tensor([[[0.0, -1.0], [0.0, -1.0]]]), torch.tensor([[1.0, 0.5]])
    mask = boxes_mask(position, weight, 4, (11, 11))[0, 0]  # rows 3 to 7, columns 0 to 2
    assert (mask[3:8, :3] == 1.5).all()
    assert mask.sum() == 1.5 * 15
