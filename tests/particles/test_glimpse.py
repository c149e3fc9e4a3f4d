"""Cutting and pasting by matrix products is the plain formula."""

import pytest

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

from jostle.particles.glimpse import boxes_mask, crop, paste, paste_sum  # noqa: E402


def plain_crop(images, place, box, side, border="zeros"):
    """The textbook formula: one copy of the image and one grid per glimpse."""
    n, k = place.shape[:2]
    steps = torch.linspace(-1, 1, side, dtype=images.dtype)
    y = place[..., 0, None] + box[..., 0, None] * steps
    x = place[..., 1, None] + box[..., 1, None] * steps
    grid = torch.stack(
        (x[:, :, None].expand(n, k, side, side), y[..., None].expand(n, k, side, side)), -1
    )
    copies = images[:, None].expand(n, k, *images.shape[1:]).flatten(0, 1)
    cut = F.grid_sample(
        copies, grid.flatten(0, 1), padding_mode=border, align_corners=True, mode="bilinear"
    )
    return cut.unflatten(0, (n, k))


def plain_paste(patches, place, box, size):
    n, k = place.shape[:2]
    h, w = size
    y = (torch.linspace(-1, 1, h, dtype=patches.dtype) - place[..., 0, None]) / box[..., 0, None]
    x = (torch.linspace(-1, 1, w, dtype=patches.dtype) - place[..., 1, None]) / box[..., 1, None]
    grid = torch.stack((x[:, :, None].expand(n, k, h, w), y[..., None].expand(n, k, h, w)), -1)
    laid = F.grid_sample(patches.flatten(0, 1), grid.flatten(0, 1), align_corners=True)
    return laid.unflatten(0, (n, k))


def scene(n=2, k=5, height=24, width=20, side=8):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(n, 3, height, width, generator=generator).double()
    patches = torch.rand(n, k, 4, side, side, generator=generator).double()
    place = (2.4 * torch.rand(n, k, 2, generator=generator) - 1.2).double()  # some hang outside
    box = (0.1 + 0.4 * torch.rand(n, k, 2, generator=generator)).double()
    return [tensor.requires_grad_() for tensor in (images, patches, place, box)]


def same(ours, theirs, inputs):
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    weight = torch.rand(ours.shape, generator=torch.Generator().manual_seed(1)).double()
    mine = torch.autograd.grad((ours * weight).sum(), inputs)
    other = torch.autograd.grad((theirs * weight).sum(), inputs)
    for a, b in zip(mine, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("ours", "theirs"), [("zeros", "zeros"), ("edge", "border")])
def test_a_crop_is_bilinear_sampling_in_values_and_gradients(ours, theirs):
    images, _, place, box = scene()
    same(
        crop(images, place, box, 8, ours),
        plain_crop(images, place, box, 8, theirs),
        (images, place, box),
    )


def test_a_paste_is_bilinear_sampling_in_values_and_gradients():
    _, patches, place, box = scene()
    same(
        paste(patches, place, box, (24, 20)),
        plain_paste(patches, place, box, (24, 20)),
        (patches, place, box),
    )


def test_a_summed_paste_is_the_sum_of_pastes():
    _, patches, place, box = scene()
    same(
        paste_sum(patches, place, box, (24, 20)),
        plain_paste(patches, place, box, (24, 20)).sum(1),
        (patches, place, box),
    )


def test_single_precision_is_precise_enough():
    images, patches, place, box = (t.detach().float() for t in scene(height=128, width=128))
    torch.testing.assert_close(
        crop(images, place, box, 32), plain_crop(images, place, box, 32), rtol=0, atol=1e-4
    )
    torch.testing.assert_close(
        paste_sum(patches, place, box, (128, 128)),
        plain_paste(patches, place, box, (128, 128)).sum(1),
        rtol=0,
        atol=1e-4,
    )


def test_pasting_what_was_cut_gives_the_image_back():
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(1, 3, 33, 33, generator=generator)
    place, box = torch.zeros(1, 1, 2), torch.full((1, 1, 2), 0.5)  # pixels 8 to 24
    back = paste(crop(images, place, box, 17), place, box, (33, 33))[0, 0]
    torch.testing.assert_close(back[:, 8:25, 8:25], images[0, :, 8:25, 8:25], rtol=0, atol=1e-5)
    assert back[:, :8].abs().max() < 1e-5
    assert back[:, :, 25:].abs().max() < 1e-5


def test_a_glimpse_is_vertical_first():
    images = torch.zeros(1, 1, 11, 11)
    images[0, 0, 8, 2] = 1.0
    place = torch.tensor([[[0.6, -0.6]]])  # row 8, column 2
    cut = crop(images, place, torch.full((1, 1, 2), 0.2), 3)
    assert cut[0, 0, 0, 1, 1] == pytest.approx(1.0, abs=1e-5)
    assert cut.sum() == pytest.approx(1.0, abs=1e-4)


def test_the_mask_of_boxes_is_where_the_boxes_are():
    place, weight = torch.tensor([[[0.0, -1.0], [0.0, -1.0]]]), torch.tensor([[1.0, 0.5]])
    mask = boxes_mask(place, weight, 4, (11, 11))[0, 0]  # rows 3 to 7, columns 0 to 2
    assert (mask[3:8, :3] == 1.5).all()
    assert mask.sum() == 1.5 * 15
