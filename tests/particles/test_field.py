"""Proposals from one map over the whole image, and what teaches it."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
from synthetic import TINY, squares  # noqa: E402

from jostle.core.particles import Particles  # noqa: E402
from jostle.particles.compose import off_center  # noqa: E402
from jostle.particles.dlp import DLP  # noqa: E402
from jostle.particles.field import STRIDE, FieldPrior, heat_loss, hills, wanted_heat  # noqa: E402
from jostle.particles.posterior import logit  # noqa: E402

FIELD = replace(TINY, proposer="field", proposals=6, tint=10.0, center=10.0, heat=0.5)


def at(*places: tuple[float, float], there: float = 1.0, box: float = 0.25) -> Particles:
    """One image of particles at pixels (row, column) of a picture of 32 pixels."""
    place = 2 * torch.tensor(places)[None] / 31 - 1
    scale = torch.full_like(place, logit(box))
    flat = torch.full(place.shape[:2], there)
    return Particles.join(place, scale, flat * 0, torch.zeros(1, len(places), 4), flat)


def test_hills_are_peaks_in_order_of_height_and_tell_their_pixel():
    heat = torch.full((1, 16, 16), -5.0)
    heat[0, 3, 4], heat[0, 3, 5], heat[0, 10, 2] = 2.0, 1.5, 3.0  # the second leans on the first
    pixels = (hills(heat, 3, 32)[0] + 1) / 2 * 31
    torch.testing.assert_close(pixels[:2], torch.tensor([[20.0, 4.0], [6.0, 8.0]]))
    assert pixels[2].tolist() != [6.0, 10.0]


def test_two_things_that_touch_get_a_hill_each():
    heat = torch.full((1, 16, 16), -5.0)
    heat[0, 5, 5] = heat[0, 5, 7] = 1.0
    found = {tuple(place) for place in ((hills(heat, 2, 32)[0] + 1) / 2 * 31).round().tolist()}
    assert found == {(10.0, 10.0), (10.0, 14.0)}


def test_a_map_moves_with_what_it_sees():
    torch.manual_seed(0)
    prior = FieldPrior(FIELD)
    prior.start()
    one = torch.full((1, 3, 64, 64), 0.4)
    two = one.clone()
    one[..., 20:26, 20:26] = 0.9
    two[..., 28:34, 24:30] = 0.9  # eight rows down, four columns to the right
    heat, moved = prior(one).heat[0], prior(two).heat[0]
    torch.testing.assert_close(moved[8:24, 6:24], heat[4:20, 4:22], rtol=1e-4, atol=1e-5)


def test_the_map_shall_be_hot_where_particles_are_and_where_the_picture_lacks_something():
    nothing, error = torch.zeros(1, 1, 32, 32), torch.zeros(1, 1, 32, 32)
    error[..., 22:27, 6:11] = 1.0
    wanted = wanted_heat(at((8.0, 12.0)), error)[0]
    assert wanted.shape == (32 // STRIDE, 32 // STRIDE)
    assert wanted[4, 6].item() == pytest.approx(1.0)
    assert wanted[12, 4].item() == pytest.approx(1.0)
    assert wanted[4, 12].item() < 0.01
    faint = wanted_heat(at((8.0, 12.0), there=0.25), nothing)[0]
    assert faint.max().item() == pytest.approx(0.25)


def test_the_loss_of_a_map_is_least_where_it_says_what_is_wanted():
    wanted = torch.rand(2, 8, 8, generator=torch.Generator().manual_seed(0)).clamp(0.01, 0.99)
    right = heat_loss(wanted.logit(), wanted)
    assert right < heat_loss(wanted.logit() + 0.1, wanted)
    assert right < heat_loss(wanted.logit() - 0.1, wanted)


def test_what_changes_in_the_middle_is_on_center_and_the_rest_tells_by_how_much():
    change = torch.zeros(1, 2, 9, 9)
    change[0, 0, 3:6, 3:6] = 1e3
    change[0, 1, 4, 8] = 1e6  # at the right edge of its box: half a box of 8 pixels away
    found = off_center(change, at((10.0, 10.0), (20.0, 20.0)), 32)[0]
    assert found[0].item() == pytest.approx(0.0, abs=1e-6)
    assert found[1].item() == pytest.approx((0.25 * 31 / 2) ** 2, rel=1e-3)
    assert off_center(change, at((10.0, 10.0), (20.0, 20.0), there=0.0), 32).sum().item() == 0.0
    assert off_center(change * 0, at((10.0, 10.0), (20.0, 20.0)), 32).sum().item() == 0.0


def test_being_off_center_moves_places_towards_what_changes_and_nothing_else():
    change = torch.zeros(1, 1, 9, 9)
    change[0, 0, 4, 7] = 100.0
    values = at((10.0, 10.0)).values.requires_grad_()
    off_center(change, Particles(values), 32).sum().backward()
    assert values.grad[0, 0, 1] < 0  # a step against it goes right
    assert values.grad[0, 0, 0].abs() < 1e-6
    assert (values.grad[0, 0, 2:] == 0).all()


def test_every_weight_learns_and_the_map_learns_from_nothing_but_its_own_loss():
    torch.manual_seed(0)
    made, (seen, _) = DLP(FIELD), squares(4)
    made.loss(seen, 0)[0].backward()
    assert all(weight.grad is not None for weight in made.parameters())
    made.zero_grad()
    made.config = replace(FIELD, heat=0.0)
    made.loss(seen, 0)[0].backward()
    assert all((w.grad == 0).all() for w in made.encoder.prior.parameters())


def test_shaking_moves_where_training_looks_but_never_encoding():
    torch.manual_seed(0)
    made, (seen, _) = DLP(replace(FIELD, shake=0.2)), squares(2)
    images = seen.flatten(0, 1).permute(0, 3, 1, 2) / 255
    still = made.encoder.find(images).anchors
    shaken = made.encoder.find(images, 0.2, torch.Generator().manual_seed(0)).anchors
    assert 0.05 < (shaken - still).abs().max() <= 0.2
    assert (made.encode(seen).values == made.encode(seen).values).all()


def test_frames_find_the_background_of_their_own_scenery():
    torch.manual_seed(0)
    made = DLP(replace(FIELD, sceneries=2))
    dark, light = torch.full((5, 1, 32, 32, 3), 40), torch.full((5, 1, 32, 32, 3), 200)
    seen = torch.cat((dark, light)).to(torch.uint8)
    seen[:, :, 3:8, 3:8] = 120  # what moves differs from both alike
    made.begin(seen, torch.tensor([0] * 5 + [1] * 5))
    images = seen.flatten(0, 1).permute(0, 3, 1, 2) / 255
    drawn = made.background_images(images[[7, 1]], 1)
    assert drawn[0, 0, 20, 20].item() == pytest.approx(200 / 255, abs=1e-3)
    assert drawn[1, 0, 20, 20].item() == pytest.approx(40 / 255, abs=1e-3)


def test_more_sceneries_than_there_is_room_for_are_refused():
    made, (seen, _) = DLP(FIELD), squares(4)
    with pytest.raises(ValueError, match="room for 1 sceneries, but the frames show 3"):
        made.begin(seen, torch.tensor([0, 1, 2, 2]))


def test_the_straight_way_for_color_tells_colors_apart_from_the_first_step():
    torch.manual_seed(0)
    seen = torch.full((2, 1, 32, 32, 3), 70, dtype=torch.uint8)
    seen[0, ..., 0], seen[1, ..., 2] = 230, 230
    images = seen.flatten(0, 1).permute(0, 3, 1, 2) / 255
    place, scale = torch.zeros(2, 1, 2), torch.full((2, 1, 2), -1.0)

    def apart(config) -> float:
        torch.manual_seed(0)
        mean = DLP(config).encoder.look(images, place, scale)[0].mean
        return (mean[0] - mean[1]).norm().item()

    plain = replace(FIELD, feature_gain=1.0)
    assert apart(plain) > 10 * apart(replace(plain, tint=0.0))
