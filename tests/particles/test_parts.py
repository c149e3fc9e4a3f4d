"""Prior, composition and sizes of the particle model."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
from synthetic import TINY  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from jostle.core.particles import Particles  # noqa: E402
from jostle.particles.compose import EPS, compose, five_sums, picture  # noqa: E402
from jostle.particles.config import LITE_DLP, PAPER_DLP  # noqa: E402
from jostle.particles.dlp import DLP  # noqa: E402
from jostle.particles.glimpse import paste  # noqa: E402
from jostle.particles.prior import patches_of, spatial_softmax, to_image  # noqa: E402

EXACT = replace(TINY, joint="canvas")


def size(part) -> int:
    return sum(weight.numel() for weight in part.parameters())


def test_the_paper_model_has_the_originals_size():
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
        assert size(part) == count
    assert size(model) == 9_192_742


def test_the_lite_model_describes_particles_alike():
    assert DLP(LITE_DLP).shape == DLP(PAPER_DLP).shape == (24, 9)
    assert size(DLP(LITE_DLP).encoder) < size(DLP(PAPER_DLP).encoder) / 2


def test_the_lite_model_does_a_tenth_of_the_work():
    frames, work = torch.zeros(1, 2, 128, 128, 3, dtype=torch.uint8), {}
    for config in (PAPER_DLP, LITE_DLP):
        model = DLP(config)
        with torch.no_grad(), FlopCounterMode(display=False) as training:
            model.loss(frames, 1_000_000)
        with FlopCounterMode(display=False) as encoding:
            model.particles(frames)  # all of them looked at closely
        work[config.passes] = [c.get_total_flops() / 4e6 for c in (training, encoding)]
    paper, lite = work[2], work[1]  # millions of multiplications per image
    assert paper == pytest.approx([2_953 + 63, 903], rel=1e-3)  # 63 of them for pasting
    assert lite[0] < paper[0] / 20
    assert lite[1] < paper[1] / 10


def test_a_flat_heatmap_is_spread_out_and_in_the_middle():
    spot = spatial_softmax(torch.zeros(3, 4, 4))
    torch.testing.assert_close(spot.place, torch.zeros(3, 2), atol=1e-6, rtol=0)
    torch.testing.assert_close(spot.score, torch.full((3,), 10 / 9))


def test_a_single_hot_cell_is_the_place_and_beyond_doubt():
    heat = torch.zeros(4, 4)
    heat[3, 1] = 100.0
    spot = spatial_softmax(heat)
    torch.testing.assert_close(spot.place, torch.tensor((1.0, -1 / 3)))
    assert spot.score.item() == pytest.approx(2e-6, abs=1e-6)


def test_the_covariance_of_a_heatmap_counts_with_its_sign():
    falling, rising = torch.full((4, 4), -100.0), torch.full((4, 4), -100.0)
    falling[0, 0] = falling[3, 3] = rising[0, 3] = rising[3, 0] = 0.0
    assert spatial_softmax(falling).score.item() == pytest.approx(3.0)
    assert spatial_softmax(rising).score.item() == pytest.approx(1.0)


def test_patches_are_row_by_row():
    images = torch.arange(64.0).view(1, 1, 8, 8).expand(1, 3, 8, 8)
    patches = patches_of(images, 4)
    assert patches.shape == (1, 4, 3, 4, 4)
    assert (patches[0, 1] == images[0, :, :4, 4:]).all()
    assert (patches[0, 2] == images[0, :, 4:, :4]).all()


def test_corners_of_patches_are_pixels_of_the_image():
    upper_left = to_image(torch.full((1, 64, 2), -1.0), 16, 128)
    lower_right = to_image(torch.full((1, 64, 2), 1.0), 16, 128)
    torch.testing.assert_close(upper_left[0, 0], torch.tensor((-1.0, -1.0)))
    torch.testing.assert_close(lower_right[0, -1], torch.tensor((1.0, 1.0)))
    pixel = (upper_left[0, 8 + 2] + 1) / 2 * 127  # second row, third column
    torch.testing.assert_close(pixel, torch.tensor((16.0, 32.0)))


def crowd(count: int = 6) -> tuple[torch.Tensor, Particles, torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    glimpses = torch.rand(2, count, 4, 8, 8, generator=rng)
    values = torch.randn(2, count, 10, generator=rng)
    values[..., :2], values[..., 2:4] = values[..., :2].tanh(), values[..., 2:4] / 4 - 1
    values[..., -1] = values[..., -1].sigmoid()
    return glimpses, Particles(values), torch.rand(2, 3, 32, 32, generator=rng)


def test_five_sums_are_the_plain_formula():
    glimpses, particles, background = crowd()
    laid = paste(glimpses, particles.place, particles.boxes, (32, 32))
    alpha, color = laid[:, :, :1], laid[:, :, 1:]
    there = particles.transparency[..., None, None, None] * alpha
    vote = there * (-particles.depth).sigmoid()[..., None, None, None]
    share = vote / (vote.sum(1, keepdim=True) + EPS)
    plain = (1 - (share * there).sum(1)) * background + (share * there * color).sum(1)
    terms = five_sums(alpha, color, particles.depth, particles.transparency)
    torch.testing.assert_close(picture(terms.sum(1), background), plain, rtol=0, atol=1e-5)


@pytest.mark.parametrize("joint", ["canvas", "patch"])
def test_the_order_of_particles_does_not_change_the_picture(joint):
    config = replace(TINY, joint=joint)
    glimpses, particles, background = crowd()
    turn = torch.randperm(6, generator=torch.Generator().manual_seed(1))
    one = compose(glimpses, particles, background, config)
    two = compose(glimpses[:, turn], Particles(particles.values[:, turn]), background, config)
    torch.testing.assert_close(one, two, rtol=0, atol=1e-5)


def test_what_is_off_is_not_in_the_picture():
    glimpses, particles, background = crowd()
    particles.values[..., -1] = 0.0
    for config in (TINY, EXACT):
        assert (compose(glimpses, particles, background, config) == background).all()


def test_the_nearer_of_two_covers_the_other():
    glimpses = torch.ones(1, 2, 4, 8, 8)
    glimpses[:, 0, 1:], glimpses[:, 1, 1:] = 0.2, 0.9
    values = torch.zeros(1, 2, 10)
    values[..., 4], values[..., -1] = torch.tensor((-8.0, 8.0)), 1.0
    for config in (TINY, EXACT):
        seen = compose(glimpses, Particles(values), torch.zeros(1, 3, 32, 32), config)
        torch.testing.assert_close(seen[0, :, 16, 16], torch.full((3,), 0.2), rtol=0, atol=1e-2)


def test_squaring_in_glimpses_is_exact_where_pixels_fall_on_pixels():
    rng = torch.Generator().manual_seed(0)
    glimpses, background = torch.rand(1, 2, 4, 8, 8, generator=rng), torch.rand(1, 3, 32, 32)
    values = torch.randn(1, 2, 10, generator=rng)
    values[..., :2] = 2 * torch.tensor(((7.5, 12.5), (9.5, 10.5))) / 31 - 1
    values[..., 2:4], values[..., -1] = torch.tensor(7 / 31).logit(), 0.7
    one, two = (
        compose(glimpses, Particles(values), background, replace(TINY, joint=joint))
        for joint in ("canvas", "patch")
    )
    inner = (..., slice(5, 11), slice(10, 14))
    torch.testing.assert_close(one[inner], two[inner], rtol=0, atol=1e-3)
