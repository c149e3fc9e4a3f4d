"""Proposals, compositing and sizes of the particle model."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
from synthetic import TINY  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from jostle.core.particles import Particles  # noqa: E402
from jostle.encoders.compositing import EPS, composite, composite_terms, render  # noqa: E402
from jostle.encoders.dlp import DLP  # noqa: E402
from jostle.encoders.dlp_config import LITE_DLP, PAPER_DLP  # noqa: E402
from jostle.encoders.glimpse import paste  # noqa: E402
from jostle.encoders.prior import patch_to_image, spatial_softmax, to_patches  # noqa: E402

EXACT = replace(TINY, compositing="canvas")


def num_weights(module) -> int:
    return sum(weight.numel() for weight in module.parameters())


def test_the_paper_model_has_the_size_of_the_original():
    model = DLP(PAPER_DLP)
    parts = {
        model.encoder.prior: 72_369,
        model.encoder.attributes: 404_124,
        model.encoder.appearance: 403_608,
        model.decoder: 601_796,
        model.background_encoder: 6_619_258,
        model.background_decoder: 1_091_587,
    }
    for part, count in parts.items():
        assert num_weights(part) == count
    assert num_weights(model) == 9_192_742


def test_the_lite_model_has_the_same_shape_and_fewer_weights():
    assert DLP(LITE_DLP).shape == DLP(PAPER_DLP).shape == (24, 9)
    assert num_weights(DLP(LITE_DLP).encoder) < num_weights(DLP(PAPER_DLP).encoder) / 2


def test_the_lite_model_needs_a_tenth_of_the_flops():
    frames, flops = torch.zeros(1, 2, 128, 128, 3, dtype=torch.uint8), {}
    for config in (PAPER_DLP, LITE_DLP):
        model = DLP(config)
        with torch.no_grad(), FlopCounterMode(display=False) as training:
            model.loss(frames, 1_000_000)
        with FlopCounterMode(display=False) as encoding:
            model.particles(frames)  # the appearance of all of them is encoded
        flops[config.attribute_passes] = [c.get_total_flops() / 4e6 for c in (training, encoding)]
    paper, lite = flops[2], flops[1]  # millions of multiplications per image
    assert paper == pytest.approx([2_953 + 63, 903], rel=1e-3)  # 63 of them for pasting
    assert lite[0] < paper[0] / 20
    assert lite[1] < paper[1] / 10


def test_the_mean_of_a_flat_heatmap_is_its_center_and_its_score_large():
    mean = spatial_softmax(torch.zeros(3, 4, 4))
    torch.testing.assert_close(mean.position, torch.zeros(3, 2), atol=1e-6, rtol=0)
    torch.testing.assert_close(mean.score, torch.full((3,), 10 / 9))


def test_the_mean_of_a_single_peak_is_its_cell_and_its_score_small():
    heatmap = torch.zeros(4, 4)
    heatmap[3, 1] = 100.0
    mean = spatial_softmax(heatmap)
    torch.testing.assert_close(mean.position, torch.tensor((1.0, -1 / 3)))
    assert mean.score.item() == pytest.approx(2e-6, abs=1e-6)


def test_the_covariance_of_a_heatmap_enters_its_score_with_its_sign():
    falling, rising = torch.full((4, 4), -100.0), torch.full((4, 4), -100.0)
    falling[0, 0] = falling[3, 3] = rising[0, 3] = rising[3, 0] = 0.0
    assert spatial_softmax(falling).score.item() == pytest.approx(3.0)
    assert spatial_softmax(rising).score.item() == pytest.approx(1.0)


def test_patches_are_in_row_major_order():
    images = torch.arange(64.0).view(1, 1, 8, 8).expand(1, 3, 8, 8)
    patches = to_patches(images, 4)
    assert patches.shape == (1, 4, 3, 4, 4)
    assert (patches[0, 1] == images[0, :, :4, 4:]).all()
    assert (patches[0, 2] == images[0, :, 4:, :4]).all()


def test_positions_in_patches_become_positions_in_the_image():
    upper_left = patch_to_image(torch.full((1, 64, 2), -1.0), 16, 128)
    lower_right = patch_to_image(torch.full((1, 64, 2), 1.0), 16, 128)
    torch.testing.assert_close(upper_left[0, 0], torch.tensor((-1.0, -1.0)))
    torch.testing.assert_close(lower_right[0, -1], torch.tensor((1.0, 1.0)))
    pixel = (upper_left[0, 8 + 2] + 1) / 2 * 127  # second row, third column
    torch.testing.assert_close(pixel, torch.tensor((16.0, 32.0)))


def overlapping(count: int = 6) -> tuple[torch.Tensor, Particles, torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    glimpses = torch.rand(2, count, 4, 8, 8, generator=rng)
    particles = Particles(torch.randn(2, count, 10, generator=rng))
    particles.position.tanh_()
    particles.scale.div_(4).sub_(1)
    particles.opacity.sigmoid_()
    return glimpses, particles, torch.rand(2, 3, 32, 32, generator=rng)


def test_the_summed_terms_equal_the_formula_of_the_paper():
    glimpses, particles, background = overlapping()
    canvases = paste(glimpses, particles.position, particles.boxes, (32, 32))
    alpha, color = canvases[:, :, :1], canvases[:, :, 1:]
    mask = particles.opacity[..., None, None, None] * alpha
    weight = mask * (-particles.depth).sigmoid()[..., None, None, None]
    share = weight / (weight.sum(1, keepdim=True) + EPS)
    expected = (1 - (share * mask).sum(1)) * background + (share * mask * color).sum(1)
    terms = composite_terms(alpha, color, particles.depth, particles.opacity)
    torch.testing.assert_close(composite(terms.sum(1), background), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("compositing", ["canvas", "patch"])
def test_the_order_of_particles_does_not_change_the_image(compositing):
    config = replace(TINY, compositing=compositing)
    glimpses, particles, background = overlapping()
    order = torch.randperm(6, generator=torch.Generator().manual_seed(1))
    permuted = Particles(particles.values[:, order])
    expected = render(glimpses, particles, background, config)
    image = render(glimpses[:, order], permuted, background, config)
    torch.testing.assert_close(image, expected, rtol=0, atol=1e-5)


def test_particles_without_opacity_do_not_change_the_image():
    glimpses, particles, background = overlapping()
    particles.opacity.zero_()
    for config in (TINY, EXACT):
        assert (render(glimpses, particles, background, config) == background).all()


def test_the_particle_in_front_covers_the_one_behind():
    glimpses = torch.ones(1, 2, 4, 8, 8)
    glimpses[:, 0, 1:], glimpses[:, 1, 1:] = 0.2, 0.9
    particles = Particles(torch.zeros(1, 2, 10))
    particles.depth.copy_(torch.tensor((-8.0, 8.0)))
    particles.opacity.fill_(1.0)
    for config in (TINY, EXACT):
        image = render(glimpses, particles, torch.zeros(1, 3, 32, 32), config)
        torch.testing.assert_close(image[0, :, 16, 16], torch.full((3,), 0.2), rtol=0, atol=1e-2)


def test_compositing_in_patches_is_exact_where_glimpse_pixels_fall_on_image_pixels():
    rng = torch.Generator().manual_seed(0)
    glimpses, background = torch.rand(1, 2, 4, 8, 8, generator=rng), torch.rand(1, 3, 32, 32)
    particles = Particles(torch.randn(1, 2, 10, generator=rng))
    particles.position.copy_(2 * torch.tensor(((7.5, 12.5), (9.5, 10.5))) / 31 - 1)
    particles.scale.fill_(torch.tensor(7 / 31).logit())
    particles.opacity.fill_(0.7)
    exact, approximate = (
        render(glimpses, particles, background, replace(TINY, compositing=compositing))
        for compositing in ("canvas", "patch")
    )
    inner = (..., slice(5, 11), slice(10, 14))
    torch.testing.assert_close(approximate[inner], exact[inner], rtol=0, atol=1e-3)
