"""The whole particle model: inputs, outputs, loss, and that it learns."""

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from synthetic import TINY, squares  # noqa: E402

from jostle.core import checkpoint  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.particles import Particles  # noqa: E402
from jostle.encoders.catalog import build_encoder, drop_attributes  # noqa: E402
from jostle.encoders.dlp import DLP  # noqa: E402
from jostle.encoders.dlp_config import DLPConfig  # noqa: E402
from jostle.encoders.vae_config import LITE_VAE  # noqa: E402

SMALL_PAPER = replace(
    DLPConfig(), image_size=64, patch_size=16, num_proposals=12, num_particles=8, glimpse_size=16
)
MODELS = {
    "lite": TINY,
    "paper": replace(SMALL_PAPER, decoder_side=4, warmup_steps=1, noisy_steps=2),
}


def make_model(name: str) -> DLP:
    torch.manual_seed(0)
    return DLP(MODELS[name])


def make_frames(name: str, batch: int = 2, views: int = 1) -> torch.Tensor:
    return squares(batch, views, size=MODELS[name].image_size)[0]


@pytest.mark.parametrize("name", MODELS)
def test_entities_have_views_and_start_with_the_position(name):
    dlp, frames = make_model(name), make_frames(name, 3, 2)
    entities = dlp.encode(frames)
    assert entities.values.shape == (3, 2, *dlp.shape)
    assert entities.visible.shape == entities.values.shape[:-1]
    positions = entities.values[..., dlp.layout["position"]]
    assert (positions == dlp.particles(frames).position).all()


@pytest.mark.parametrize("name", MODELS)
def test_encoding_the_appearance_of_visible_particles_only_does_not_change_them(name):
    dlp, frames = make_model(name), make_frames(name, 3, 2)
    torch.nn.init.normal_(dlp.encoder.attributes.glimpse_encoder.head.weight, std=0.3)
    particles = dlp.particles(frames)
    min_opacity = float(particles.opacity.median())  # about half of the particles are visible
    partial = dlp.particles(frames, min_opacity)
    visible = particles.opacity >= min_opacity
    assert 0 < visible.float().mean() < 1
    torch.testing.assert_close(
        partial.values[visible], particles.values[visible], rtol=1e-4, atol=1e-4
    )
    assert (partial.features[~visible] == 0).all()
    assert (partial.position == particles.position).all()


@pytest.mark.parametrize("name", MODELS)
def test_encoding_is_deterministic_and_independent_of_the_batch(name):
    dlp, frames = make_model(name), make_frames(name, 4, 2)
    first, second = dlp.encode(frames), dlp.encode(frames)
    assert (first.values == second.values).all()
    alone = dlp.encode(frames[1:2, 1:2])
    torch.testing.assert_close(alone.values[0, 0], first.values[1, 1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_the_loss_uses_only_the_given_generator(name):
    dlp, frames = make_model(name), make_frames(name)
    before = torch.random.get_rng_state()
    losses = [dlp.loss(frames, 5, torch.Generator().manual_seed(1))[0].item() for _ in range(2)]
    assert losses[0] == losses[1]
    assert (torch.random.get_rng_state() == before).all()


def test_a_bright_square_is_found_at_its_row_and_column():
    config = replace(
        TINY, proposer="patches", heatmap_init_std=0.5, conv_init_std=0.1, num_particles=1
    )
    config = replace(config, image_size=128, patch_size=16, glimpse_size=16, decoder_side=8)
    torch.manual_seed(0)
    dlp = DLP(config)
    frames = torch.full((1, 1, 128, 128, 3), 60, dtype=torch.uint8)
    frames[0, 0, 84:90, 22:28] = 250  # inside the patch of rows 80 to 95, columns 16 to 31
    position = (dlp.particles(frames).position[0, 0, 0] + 1) / 2 * 127
    assert 80 <= position[0] < 96
    assert 16 <= position[1] < 32


@pytest.mark.parametrize("name", MODELS)
def test_reconstructions_are_frames(name):
    frames = make_frames(name, 3)
    reconstruction = make_model(name).reconstruct(frames)
    assert reconstruction.shape == frames.shape
    assert reconstruction.dtype == torch.uint8


def test_in_the_warm_up_only_the_appearance_gets_gradients_from_pixels():
    dlp, frames = make_model("paper"), make_frames("paper")
    dlp.config = replace(MODELS["paper"], kl_weight=0.0)
    assert [dlp.phase(step) for step in range(3)] == ["warmup", "noisy", "normal"]
    dlp.loss(frames, 0)[0].backward()
    assert _has_gradient(dlp.encoder.appearance)
    assert _has_gradient(dlp.decoder)
    for part in (dlp.encoder.prior, dlp.encoder.attributes, dlp.background_encoder):
        assert not _has_gradient(part)
    assert not _has_gradient(dlp.background_decoder)


def test_in_noisy_steps_positions_get_gradients_but_scales_do_not():
    dlp, frames = make_model("paper"), make_frames("paper")
    dlp.config = replace(MODELS["paper"], kl_weight=0.0)
    head = dlp.encoder.attributes.glimpse_encoder.head
    dlp.loss(frames, 1)[0].backward()
    assert head.weight.grad[:2].abs().max() > 0  # offset
    assert head.weight.grad[6:8].abs().max() == 0  # log-variance of scales
    dlp.zero_grad()
    dlp.loss(frames, 2)[0].backward()
    assert head.weight.grad[6:8].abs().max() > 0


@pytest.mark.parametrize("name", MODELS)
def test_every_weight_gets_a_gradient(name):
    dlp = make_model(name)
    dlp.loss(make_frames(name), 9)[0].backward()
    for parameter, weight in dlp.named_parameters():
        assert weight.grad is not None, parameter
        assert torch.isfinite(weight.grad).all(), parameter


@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_the_weighted_sum_of_its_terms(name):
    config = MODELS[name]
    total, terms = make_model(name).loss(make_frames(name), 9)
    weights = {
        "chamfer": config.chamfer_weight,
        "depth": config.depth_kl_weight,
        "features": config.feature_kl_weight,
    }
    weights |= {"offset": 1.0, "scale": 1.0, "opacity": 1.0, "background": config.feature_kl_weight}
    weights |= {"centering": config.centering_weight, "heatmap": config.heatmap_weight}
    weighted = sum(weights[key] * terms[key] for key in weights if key in terms)
    cost = config.particle_cost * terms["active_particles"]
    expected = terms["reconstruction"] + config.kl_weight * weighted + cost
    torch.testing.assert_close(total.detach(), expected)


def test_an_untrained_lite_model_predicts_its_anchors_with_small_noise():
    dlp, frames = make_model("lite"), make_frames("lite", 8)
    posterior = dlp.encoder.posterior(frames.flatten(0, 1).permute(0, 3, 1, 2) / 255)
    torch.testing.assert_close(posterior.position.mean, posterior.anchors)
    assert (0.5 * posterior.offset.logvar).exp().mean().item() == pytest.approx(0.01)
    torch.testing.assert_close(posterior.scale.mean.sigmoid(), torch.full((8, 6, 2), 8 / 32))
    torch.testing.assert_close(posterior.opacity.mean, torch.full((8, 6), 0.5))


def test_opacity_is_sampled_only_with_sample_beta():
    dlp, frames = make_model("lite"), make_frames("lite")

    def active_particles() -> list[float]:
        rngs = [torch.Generator().manual_seed(seed) for seed in range(2)]
        return [dlp.loss(frames, 0, rng)[1]["active_particles"].item() for rng in rngs]

    first, second = active_particles()
    assert first == second
    dlp.config = replace(TINY, sample_beta=True)
    first, second = active_particles()
    assert first != second


def test_larger_initial_heatmap_weights_find_more_squares_before_training():
    frames, centers = squares(32)

    def near(config: DLPConfig) -> float:
        hits = []
        for seed in range(3):
            torch.manual_seed(seed)
            position = DLP(config).particles(frames).position
            gap = (centers[..., None, :] - position[..., None, :, :]).abs().amax(-1)
            hits.append((gap.amin(-1) < 8 / 31).float().mean())  # half a patch away at most
        return torch.stack(hits).mean().item()

    patches = replace(TINY, proposer="patches", prior_convs=((16, 1), (32, 2), (32, 2)))
    assert (
        near(replace(patches, heatmap_init_std=0.5))
        > near(replace(patches, heatmap_init_std=0.01)) + 0.1
    )


def test_backgrounds_start_at_the_median():
    dlp, (frames, _) = make_model("lite"), squares(9)
    dlp.init_from_data(frames)
    background = dlp.background_images(torch.zeros(1, 3, 32, 32), 1)[0]
    torch.testing.assert_close(background, torch.full((3, 32, 32), 70 / 255), rtol=0, atol=1e-3)


def test_a_tiny_lite_model_learns_one_batch_of_squares():
    torch.manual_seed(0)
    rng = torch.Generator().manual_seed(0)
    dlp, (frames, centers) = DLP(replace(TINY, num_particles=8)), squares(8)
    dlp.init_from_data(frames)
    empty = (frames - 70.0).div(255).square().sum((2, 3, 4)).mean()  # the background alone
    adam = torch.optim.Adam(dlp.parameters(), 1e-3, eps=1e-6)
    for step in range(160):
        loss, terms = dlp.loss(frames, step, rng)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert terms["reconstruction"] < empty / 3
    assert _recall(dlp.particles(frames), centers, radius=2 / 15.5) > 0.3


def _recall(particles: Particles, centers: torch.Tensor, radius: float) -> float:
    """Fraction of the squares with a visible particle within `radius`."""
    gap = (centers[..., None, :] - particles.position[..., None, :, :]).norm(dim=-1)
    gap = gap.masked_fill((particles.opacity < 0.5)[..., None, :], torch.inf)
    return (gap.min(-1).values < radius).float().mean().item()


def _has_gradient(part: torch.nn.Module) -> bool:
    return any(w.grad is not None and w.grad.abs().max() > 0 for w in part.parameters())


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (torch.zeros(2, 1, 32, 32, 3), "uint8 in 0 to 255, but these are torch.float32"),
        (torch.zeros(2, 1, 3, 32, 32, dtype=torch.uint8), "Channels come last: permute"),
        (torch.zeros(2, 32, 32, 3, dtype=torch.uint8), "axis of views or of the batch missing"),
        (torch.zeros(2, 1, 64, 64, 3, dtype=torch.uint8), "32 × 32 pixels, but these have 64 × 64"),
        (torch.zeros(0, 1, 32, 32, 3, dtype=torch.uint8), "There are no frames"),
    ],
)
def test_invalid_frames_are_refused(bad, words):
    with pytest.raises(BadValueError, match=words):
        make_model("lite").encode(bad)


def test_a_wrong_number_of_views_is_refused():
    with pytest.raises(BadValueError, match="images of 1 cameras, but the frames have 2"):
        make_model("lite").loss(make_frames("lite", views=2), 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"patch_size": 5}, "multiple of patch_size"),
        ({"num_particles": 40}, "at most the one before"),
        ({"glimpse_size": 24}, "cannot be doubled"),
        ({"attribute_passes": 3}, "1 or 2 attribute passes"),
        ({"background": "conv"}, "background='image'"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change, words):
    with pytest.raises(BadValueError, match=words):
        replace(TINY, **change)


@pytest.mark.parametrize("name", MODELS)
def test_the_plain_encoder_of_the_benchmarks_gives_the_same_particles(name, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    from plain_dlp import PlainEncoder

    dlp, frames = make_model(name), make_frames(name, 2, 2)
    plain, ours = PlainEncoder(dlp)(frames).values, dlp.particles(frames).values
    torch.testing.assert_close(plain, ours, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_weights_survive_a_checkpoint(name, tmp_path):
    dlp, frames = make_model(name), make_frames(name)
    dlp.init_from_data(frames)
    checkpoint.save(tmp_path / "dlp.safetensors", dlp.state_dict(), {})
    tensors, _ = checkpoint.load(tmp_path / "dlp.safetensors")
    other = DLP(MODELS[name])
    checkpoint.load_into(other, tensors, "", "the particles")
    assert (other.encode(frames).values == dlp.encode(frames).values).all()
    assert (other.reconstruct(frames) == dlp.reconstruct(frames)).all()


@pytest.mark.parametrize(("dropped", "width"), [("scale", 7), ("depth", 8), ("mask", 9)])
def test_dropping_an_attribute_keeps_the_other_columns(dropped, width):
    full, frames = make_model("lite").eval(), make_frames("lite")
    reduced = drop_attributes(full, (dropped,))
    before, after = full.encode(frames), reduced.encode(frames)
    assert after.shape == (1, TINY.num_particles, width) == (1, *reduced.shape)
    old, new = full.layout["position"], reduced.layout["position"]
    assert (before.values[..., old] == after.values[..., new]).all()
    assert after.visible.all() if dropped == "mask" else (before.visible == after.visible).all()


def test_only_particles_have_attributes_to_drop():
    with pytest.raises(BadValueError, match="'vae'"):
        drop_attributes(build_encoder("vae", LITE_VAE), ("scale",))
