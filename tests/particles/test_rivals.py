"""The rivals of particles: one vector per view, and slots."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from synthetic import squares  # noqa: E402

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.particles.foreground import beside, median_frames, pixel_weights  # noqa: E402
from jostle.particles.slots import LITE_SLOTS, PAPER_SLOTS, SlotModel  # noqa: E402
from jostle.particles.vae import LITE_VAE, PAPER_VAE, VAE, edge_distance  # noqa: E402

TINY_VAE = replace(
    LITE_VAE, image=32, shrink=2, multipliers=(1, 2, 2), latents=16, hidden=64, maps=16, cameras=1
)
TINY_SLOTS = replace(
    LITE_SLOTS,
    image=32,
    shrink=2,
    slots=4,
    channels=16,
    width=16,
    hidden=32,
    foreground=0.0,
    on_median=False,
    cameras=1,
)
RIVALS = {"vae": (VAE, TINY_VAE), "slots": (SlotModel, TINY_SLOTS)}


def size(part) -> int:
    return sum(weight.numel() for weight in part.parameters())


def model(name: str):
    torch.manual_seed(0)
    kind, config = RIVALS[name]
    return kind(config)


def test_the_autoencoder_has_the_originals_size():
    made = VAE(PAPER_VAE)
    assert size(made.convs) == 7_530_304
    assert size(made.unconvs) == 10_919_491
    assert size(made.read) + size(made.write) == 1_444_352
    assert made.shape == VAE(LITE_VAE).shape == (1, 256)


def test_slot_attention_has_the_originals_size():
    assert size(SlotModel(PAPER_SLOTS)) == 890_180
    assert SlotModel(PAPER_SLOTS).shape == SlotModel(LITE_SLOTS).shape == (10, 64)


@pytest.mark.parametrize("name", RIVALS)
def test_entities_are_deterministic_all_visible_and_no_matter_of_the_batch(name):
    made, (seen, _) = model(name), squares(3, views=2)
    whole, again = made.encode(seen), made.encode(seen)
    assert whole.values.shape == (3, 2, *made.shape)
    assert whole.visible.all()
    assert (whole.values == again.values).all()
    alone = made.encode(seen[1:2, 1:2])
    torch.testing.assert_close(alone.values[0, 0], whole.values[1, 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", RIVALS)
def test_training_repeats_with_its_generator_and_reconstructs_frames(name):
    made, (seen, _) = model(name), squares(4)
    made.begin(seen)
    losses = [made.loss(seen, 0, torch.Generator().manual_seed(1))[0].item() for _ in range(2)]
    assert losses[0] == losses[1]
    drawn = made.reconstruct(seen)
    assert drawn.shape == seen.shape
    assert drawn.dtype == torch.uint8


@pytest.mark.parametrize("name", RIVALS)
def test_the_loss_of_one_batch_halves(name):
    made, (seen, _) = model(name), squares(4)
    made.begin(seen)
    rng = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(made.parameters(), 2e-3)
    first = made.loss(seen, 0, rng)[0].item()
    for step in range(40):
        loss, _ = made.loss(seen, step, rng)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert loss.item() < first / 2


@pytest.mark.parametrize("name", RIVALS)
def test_wrong_frames_are_refused(name):
    with pytest.raises(BadValueError, match="Channels come last"):
        model(name).encode(torch.zeros(2, 1, 3, 32, 32, dtype=torch.uint8))


def test_slots_share_the_pixels_whatever_their_order():
    made, (seen, _) = model("slots"), squares(2)
    images = seen.flatten(0, 1).permute(0, 3, 1, 2)[:, :, ::2, ::2] / 255
    turn = torch.tensor((2, 0, 3, 1))
    one, two = made._slots(images, made.noise, 1), made._slots(images, made.noise[:, turn], 1)
    torch.testing.assert_close(one[:, turn], two, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(made._draw(one, 1), made._draw(two, 1), rtol=1e-4, atol=1e-5)


def test_edges_do_not_see_brightness():
    images = torch.rand(1, 3, 16, 16)
    assert edge_distance(images, images + 0.3).item() == pytest.approx(0.0, abs=1e-6)
    assert edge_distance(images, images.flip(-1)).item() > 0.1


@pytest.mark.parametrize("name", RIVALS)
def test_views_without_a_median_are_refused(name):
    kind, config = RIVALS[name]
    with pytest.raises(BadValueError, match="median frames of 1 cameras"):
        kind(replace(config, foreground=1.0)).begin(squares(2, views=2)[0])


def test_a_pixel_weighs_more_the_farther_it_is_from_the_median_of_its_camera():
    still = torch.rand(2, 3, 4, 4)
    images = still.repeat(5, 1, 1, 1)  # five scenes of two cameras
    images[3, :, 1, 2] += 0.25
    median = median_frames(images, views=2, cameras=2)
    assert torch.equal(median, still)
    weights = pixel_weights(images, beside(median, images, 2), strength=8)
    assert weights[3, 0, 1, 2].item() == pytest.approx(3)
    assert weights.sum().item() == pytest.approx(weights.numel() + 2)


@pytest.mark.parametrize("name", RIVALS)
def test_a_miss_of_what_moves_costs_more_than_one_of_what_stands_still(name):
    seen, _ = squares(8)
    losses = {}
    for weight in (0.0, 10.0):
        torch.manual_seed(0)
        kind, config = RIVALS[name]
        made = kind(replace(config, foreground=weight))
        made.begin(seen)
        losses[weight] = made.loss(seen, 0, torch.Generator().manual_seed(1))[0].item()
    assert losses[10.0] > 1.2 * losses[0.0]


def test_what_draws_on_the_median_draws_it_before_it_learnt_anything():
    made, (seen, _) = model("vae"), squares(8)
    made.begin(seen)
    torch.nn.init.zeros_(made.unconvs[-1].weight)
    torch.nn.init.zeros_(made.unconvs[-1].bias)
    middle = seen.float().median(0).values  # (1, 32, 32, 3)
    off = (made.reconstruct(seen).float() - middle).abs()
    assert off.median().item() <= 1


def test_slots_compete_with_the_median_for_every_pixel():
    seen, _ = squares(8)
    torch.manual_seed(0)
    made = SlotModel(replace(TINY_SLOTS, on_median=True))
    made.begin(seen)
    bids = made.unconvs[-1].bias.data
    bids[3] = -20
    assert made.masks(made.encode(seen)).max().item() < 1e-3
    middle = seen.float().median(0).values
    assert (made.reconstruct(seen).float() - middle).abs().median().item() <= 1
    bids[3] = 20
    whole = made.masks(made.encode(seen)).sum(2)
    torch.testing.assert_close(whole, torch.ones_like(whole))


def test_reading_does_not_depend_on_the_median():
    made, (seen, _) = model("vae"), squares(2)
    before = made.encode(seen).values
    made.begin(seen)
    assert torch.equal(made.encode(seen).values, before)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(BadValueError, match="cannot be halved"):
        replace(TINY_VAE, image=30)
    with pytest.raises(BadValueError, match="shrunk 3 times"):
        replace(TINY_SLOTS, shrink=3)
    with pytest.raises(BadValueError, match="draws 16, 32, 64"):
        replace(TINY_SLOTS, shrink=4)
