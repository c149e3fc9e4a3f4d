"""Proposals from one heatmap over the whole image, and how it is trained."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
from synthetic import TINY, squares  # noqa: E402

from jostle.core.particles import Particles  # noqa: E402
from jostle.encoders.compositing import centering_error  # noqa: E402
from jostle.encoders.dlp import DLP  # noqa: E402
from jostle.encoders.heatmap import STRIDE, HeatmapPrior, heatmap_loss, heatmap_target, local_maxima  # noqa: E402
from jostle.encoders.posterior import logit  # noqa: E402

HEATMAP = replace(
    TINY,
    proposer="heatmap",
    num_proposals=6,
    color_skip_gain=10.0,
    centering_weight=10.0,
    heatmap_weight=0.5,
)


def particles_at(
    *positions: tuple[float, float], opacity: float = 1.0, box: float = 0.25
) -> Particles:
    """One image of particles at pixels (row, column) of an image of 32 pixels."""
    position = 2 * torch.tensor(positions)[None] / 31 - 1
    scale = torch.full_like(position, logit(box))
    opacities = torch.full(position.shape[:2], opacity)
    features = torch.zeros(1, len(positions), 4)
    return Particles.from_parts(position, scale, opacities * 0, features, opacities)


def test_local_maxima_are_sorted_by_height_and_given_as_positions():
    heatmap = torch.full((1, 16, 16), -5.0)
    heatmap[0, 3, 4], heatmap[0, 3, 5], heatmap[0, 10, 2] = (
        2.0,
        1.5,
        3.0,
    )  # the second is next to the first
    pixels = (local_maxima(heatmap, 3, 32)[0] + 1) / 2 * 31
    torch.testing.assert_close(pixels[:2], torch.tensor([[20.0, 4.0], [6.0, 8.0]]))
    assert pixels[2].tolist() != [6.0, 10.0]


def test_adjacent_objects_have_a_local_maximum_each():
    heatmap = torch.full((1, 16, 16), -5.0)
    heatmap[0, 5, 5] = heatmap[0, 5, 7] = 1.0
    pixels = ((local_maxima(heatmap, 2, 32)[0] + 1) / 2 * 31).round()
    assert set(map(tuple, pixels.tolist())) == {(10.0, 10.0), (10.0, 14.0)}


def test_the_heatmap_is_translation_equivariant():
    torch.manual_seed(0)
    prior = HeatmapPrior(HEATMAP)
    prior.init_weights()
    image = torch.full((1, 3, 64, 64), 0.4)
    shifted = image.clone()
    image[..., 20:26, 20:26] = 0.9
    shifted[..., 28:34, 24:30] = 0.9  # eight rows down, four columns to the right
    heatmap, moved = prior(image).heatmap[0], prior(shifted).heatmap[0]
    torch.testing.assert_close(moved[8:24, 6:24], heatmap[4:20, 4:22], rtol=1e-4, atol=1e-5)


def test_the_target_is_high_at_particles_and_where_the_reconstruction_is_poor():
    no_error, error = torch.zeros(1, 1, 32, 32), torch.zeros(1, 1, 32, 32)
    error[..., 22:27, 6:11] = 1.0
    target = heatmap_target(particles_at((8.0, 12.0)), error)[0]
    assert target.shape == (32 // STRIDE, 32 // STRIDE)
    assert target[4, 6].item() == pytest.approx(1.0)
    assert target[12, 4].item() == pytest.approx(1.0)
    assert target[4, 12].item() < 0.01
    transparent = heatmap_target(particles_at((8.0, 12.0), opacity=0.25), no_error)[0]
    assert transparent.max().item() == pytest.approx(0.25)


def test_the_heatmap_loss_is_smallest_at_the_target():
    target = torch.rand(2, 8, 8, generator=torch.Generator().manual_seed(0)).clamp(0.01, 0.99)
    minimum = heatmap_loss(target.logit(), target)
    assert minimum < heatmap_loss(target.logit() + 0.1, target)
    assert minimum < heatmap_loss(target.logit() - 0.1, target)


def test_the_centering_error_is_the_squared_distance_to_the_center_of_mass():
    change = torch.zeros(1, 2, 9, 9)
    change[0, 0, 3:6, 3:6] = 1e3
    change[0, 1, 4, 8] = 1e6  # at the right edge of its box: half a box of 8 pixels away
    particles = particles_at((10.0, 10.0), (20.0, 20.0))
    error = centering_error(change, particles, 32)[0]
    assert error[0].item() == pytest.approx(0.0, abs=1e-6)
    assert error[1].item() == pytest.approx((0.25 * 31 / 2) ** 2, rel=1e-3)
    absent = particles_at((10.0, 10.0), (20.0, 20.0), opacity=0.0)
    assert centering_error(change, absent, 32).sum().item() == 0.0
    assert centering_error(change * 0, particles, 32).sum().item() == 0.0


def test_the_centering_error_moves_only_positions_and_toward_the_change():
    change = torch.zeros(1, 1, 9, 9)
    change[0, 0, 4, 7] = 100.0
    values = particles_at((10.0, 10.0)).values.requires_grad_()
    centering_error(change, Particles(values), 32).sum().backward()
    assert values.grad[0, 0, 1] < 0  # gradient descent moves right
    assert values.grad[0, 0, 0].abs() < 1e-6
    assert (values.grad[0, 0, 2:] == 0).all()


def test_every_weight_gets_a_gradient_and_the_heatmap_only_from_its_own_loss():
    torch.manual_seed(0)
    model, (frames, _) = DLP(HEATMAP), squares(4)
    model.loss(frames, 0)[0].backward()
    assert all(weight.grad is not None for weight in model.parameters())
    model.zero_grad()
    model.config = replace(HEATMAP, heatmap_weight=0.0)
    model.loss(frames, 0)[0].backward()
    assert all((w.grad == 0).all() for w in model.encoder.prior.parameters())


def test_jitter_moves_proposals_in_training_but_not_in_encoding():
    torch.manual_seed(0)
    model, (frames, _) = DLP(replace(HEATMAP, proposal_jitter=0.2)), squares(2)
    images = frames.flatten(0, 1).permute(0, 3, 1, 2) / 255
    anchors = model.encoder.posterior(images).anchors
    jittered = model.encoder.posterior(images, 0.2, torch.Generator().manual_seed(0)).anchors
    assert 0.05 < (jittered - anchors).abs().max() <= 0.2
    assert (model.encode(frames).values == model.encode(frames).values).all()


def test_each_frame_gets_its_nearest_background():
    torch.manual_seed(0)
    model = DLP(replace(HEATMAP, num_backgrounds=2))
    dark, light = torch.full((5, 1, 32, 32, 3), 40), torch.full((5, 1, 32, 32, 3), 200)
    frames = torch.cat((dark, light)).to(torch.uint8)
    frames[:, :, 3:8, 3:8] = 120  # the object differs from both backgrounds alike
    model.init_from_data(frames, torch.tensor([0] * 5 + [1] * 5))
    images = frames.flatten(0, 1).permute(0, 3, 1, 2) / 255
    backgrounds = model.background_images(images[[7, 1]], 1)
    assert backgrounds[0, 0, 20, 20].item() == pytest.approx(200 / 255, abs=1e-3)
    assert backgrounds[1, 0, 20, 20].item() == pytest.approx(40 / 255, abs=1e-3)


def test_more_backgrounds_than_background_images_are_refused():
    model, (frames, _) = DLP(HEATMAP), squares(4)
    with pytest.raises(
        ValueError, match="has 1 background images per camera, but the frames show 3"
    ):
        model.init_from_data(frames, torch.tensor([0, 1, 2, 2]))


def test_the_color_skip_connection_separates_colors_from_the_first_step():
    torch.manual_seed(0)
    frames = torch.full((2, 1, 32, 32, 3), 70, dtype=torch.uint8)
    frames[0, ..., 0], frames[1, ..., 2] = 230, 230
    images = frames.flatten(0, 1).permute(0, 3, 1, 2) / 255
    position, scale = torch.zeros(2, 1, 2), torch.full((2, 1, 2), -1.0)

    def distance(config) -> float:
        torch.manual_seed(0)
        mean = DLP(config).encoder.encode_appearance(images, position, scale)[0].mean
        return (mean[0] - mean[1]).norm().item()

    plain = replace(HEATMAP, feature_init_gain=1.0)
    assert distance(plain) > 10 * distance(replace(plain, color_skip_gain=0.0))
