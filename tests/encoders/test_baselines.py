"""The baselines for particles: one vector per view, and slots."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from synthetic import squares  # noqa: E402

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.encoders.foreground import expand_median, median_frames, pixel_weights  # noqa: E402
from jostle.encoders.slot_config import LITE_SLOTS, PAPER_SLOTS  # noqa: E402
from jostle.encoders.slots import SlotModel  # noqa: E402
from jostle.encoders.vae import VAE, edge_distance  # noqa: E402
from jostle.encoders.vae_config import LITE_VAE, PAPER_VAE  # noqa: E402

TINY_VAE = replace(
    LITE_VAE,
    image_size=32,
    downscale=2,
    channel_multipliers=(1, 2, 2),
    latent_dim=16,
    hidden_dim=64,
    bottleneck_channels=16,
    num_cameras=1,
)
TINY_SLOTS = replace(
    LITE_SLOTS,
    image_size=32,
    downscale=2,
    num_slots=4,
    channels=16,
    slot_dim=16,
    hidden_dim=32,
    foreground_weight=0.0,
    subtract_background=False,
    num_cameras=1,
)
BASELINES = {"vae": (VAE, TINY_VAE), "slots": (SlotModel, TINY_SLOTS)}


def num_weights(module) -> int:
    return sum(weight.numel() for weight in module.parameters())


def make_model(name: str):
    torch.manual_seed(0)
    model_class, config = BASELINES[name]
    return model_class(config)


def test_the_autoencoder_has_the_size_of_the_original():
    model = VAE(PAPER_VAE)
    assert num_weights(model.conv_encoder) == 7_530_304
    assert num_weights(model.conv_decoder) == 10_919_491
    assert num_weights(model.to_latent) + num_weights(model.from_latent) == 1_444_352
    assert model.shape == VAE(LITE_VAE).shape == (1, 256)


def test_slot_attention_has_the_size_of_the_original():
    assert num_weights(SlotModel(PAPER_SLOTS)) == 890_180
    assert SlotModel(PAPER_SLOTS).shape == SlotModel(LITE_SLOTS).shape == (10, 64)


@pytest.mark.parametrize("name", BASELINES)
def test_entities_are_deterministic_all_visible_and_independent_of_the_batch(name):
    model, (frames, _) = make_model(name), squares(3, views=2)
    first, second = model.encode(frames), model.encode(frames)
    assert first.values.shape == (3, 2, *model.shape)
    assert model.layout.width == model.shape[1]
    assert first.visible.all()
    assert (first.values == second.values).all()
    alone = model.encode(frames[1:2, 1:2])
    torch.testing.assert_close(alone.values[0, 0], first.values[1, 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", BASELINES)
def test_the_loss_is_reproducible_and_reconstructions_are_frames(name):
    model, (frames, _) = make_model(name), squares(4)
    model.init_from_data(frames)
    losses = [model.loss(frames, 0, torch.Generator().manual_seed(1))[0].item() for _ in range(2)]
    assert losses[0] == losses[1]
    reconstruction = model.reconstruct(frames)
    assert reconstruction.shape == frames.shape
    assert reconstruction.dtype == torch.uint8


@pytest.mark.parametrize("name", BASELINES)
def test_training_halves_the_loss_of_one_batch(name):
    model, (frames, _) = make_model(name), squares(4)
    model.init_from_data(frames)
    rng = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(model.parameters(), 2e-3)
    first = model.loss(frames, 0, rng)[0].item()
    for step in range(40):
        loss, _ = model.loss(frames, step, rng)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert loss.item() < first / 2


@pytest.mark.parametrize("name", BASELINES)
def test_invalid_frames_are_refused(name):
    with pytest.raises(BadValueError, match="Channels come last"):
        make_model(name).encode(torch.zeros(2, 1, 3, 32, 32, dtype=torch.uint8))


def test_slot_attention_is_equivariant_and_decoding_invariant_to_permutations():
    model, (frames, _) = make_model("slots"), squares(2)
    images = frames.flatten(0, 1).permute(0, 3, 1, 2)[:, :, ::2, ::2] / 255
    order = torch.tensor((2, 0, 3, 1))
    slots = model._slots(images, model.initial_noise, 1)
    permuted = model._slots(images, model.initial_noise[:, order], 1)
    torch.testing.assert_close(slots[:, order], permuted, rtol=1e-4, atol=1e-5)
    decoded, expected = model._decode(permuted, 1), model._decode(slots, 1)
    torch.testing.assert_close(decoded, expected, rtol=1e-4, atol=1e-5)


def test_the_edge_distance_ignores_brightness():
    images = torch.rand(1, 3, 16, 16)
    assert edge_distance(images, images + 0.3).item() == pytest.approx(0.0, abs=1e-6)
    assert edge_distance(images, images.flip(-1)).item() > 0.1


@pytest.mark.parametrize("name", BASELINES)
def test_a_wrong_number_of_views_is_refused(name):
    model_class, config = BASELINES[name]
    model = model_class(replace(config, foreground_weight=1.0))
    with pytest.raises(BadValueError, match="median frames of 1 cameras"):
        model.init_from_data(squares(2, views=2)[0])


def test_pixel_weights_grow_with_the_distance_from_the_median_frame():
    background = torch.rand(2, 3, 4, 4)
    images = background.repeat(5, 1, 1, 1)  # five scenes of two cameras
    images[3, :, 1, 2] += 0.25
    median = median_frames(images, views=2, cameras=2)
    assert torch.equal(median, background)
    weights = pixel_weights(images, expand_median(median, images, 2), strength=8)
    assert weights[3, 0, 1, 2].item() == pytest.approx(3)
    assert weights.sum().item() == pytest.approx(weights.numel() + 2)


@pytest.mark.parametrize("name", BASELINES)
def test_foreground_weight_raises_the_cost_of_missing_objects(name):
    frames, _ = squares(8)
    losses = {}
    for weight in (0.0, 10.0):
        torch.manual_seed(0)
        model_class, config = BASELINES[name]
        model = model_class(replace(config, foreground_weight=weight))
        model.init_from_data(frames)
        losses[weight] = model.loss(frames, 0, torch.Generator().manual_seed(1))[0].item()
    assert losses[10.0] > 1.2 * losses[0.0]


def test_with_subtract_background_a_zero_decoder_draws_the_median():
    model, (frames, _) = make_model("vae"), squares(8)
    model.init_from_data(frames)
    torch.nn.init.zeros_(model.conv_decoder[-1].weight)
    torch.nn.init.zeros_(model.conv_decoder[-1].bias)
    median = frames.float().median(0).values  # (1, 32, 32, 3)
    difference = (model.reconstruct(frames).float() - median).abs()
    assert difference.median().item() <= 1


def test_slots_compete_with_the_median_for_every_pixel():
    frames, _ = squares(8)
    torch.manual_seed(0)
    model = SlotModel(replace(TINY_SLOTS, subtract_background=True))
    model.init_from_data(frames)
    bias = model.conv_decoder[-1].bias.data
    bias[3] = -20  # the logit of the slots' masks
    assert model.masks(model.encode(frames)).max().item() < 1e-3
    median = frames.float().median(0).values
    assert (model.reconstruct(frames).float() - median).abs().median().item() <= 1
    bias[3] = 20
    total = model.masks(model.encode(frames)).sum(2)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_the_vectors_of_the_autoencoder_do_not_depend_on_the_median():
    model, (frames, _) = make_model("vae"), squares(2)
    before = model.encode(frames).values
    model.init_from_data(frames)
    assert torch.equal(model.encode(frames).values, before)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(BadValueError, match="cannot be halved"):
        replace(TINY_VAE, image_size=30)
    with pytest.raises(BadValueError, match="downscaled by 3"):
        replace(TINY_SLOTS, downscale=3)
    with pytest.raises(BadValueError, match="draws 16, 32, 64"):
        replace(TINY_SLOTS, downscale=4)
