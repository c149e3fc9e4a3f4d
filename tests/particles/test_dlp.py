"""The whole particle model: what it is given, what it gives, and that it learns."""

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from synthetic import TINY, squares  # noqa: E402

from jostle.core import checkpoint  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.particles import Particles  # noqa: E402
from jostle.particles.catalog import build, telling_less  # noqa: E402
from jostle.particles.config import DLPConfig  # noqa: E402
from jostle.particles.dlp import DLP  # noqa: E402
from jostle.particles.vae import LITE_VAE  # noqa: E402

SMALL_PAPER = replace(DLPConfig(), image=64, patch=16, proposals=12, particles=8, glimpse=16)
MODELS = {
    "lite": TINY,
    "paper": replace(SMALL_PAPER, decoder_side=4, warmup_steps=1, noisy_steps=2),
}


def model(name: str) -> DLP:
    torch.manual_seed(0)
    return DLP(MODELS[name])


def frames(name: str, batch: int = 2, views: int = 1) -> torch.Tensor:
    return squares(batch, views, size=MODELS[name].image)[0]


@pytest.mark.parametrize("name", MODELS)
def test_entities_have_views_and_begin_with_a_place(name):
    made, seen = model(name), frames(name, 3, 2)
    entities = made.encode(seen)
    assert entities.values.shape == (3, 2, *made.shape)
    assert entities.visible.shape == entities.values.shape[:-1]
    assert (entities.values[..., :2] == made.particles(seen).place).all()


@pytest.mark.parametrize("name", MODELS)
def test_only_what_is_visible_is_looked_at_closely_and_that_changes_nothing(name):
    made, seen = model(name), frames(name, 3, 2)
    torch.nn.init.normal_(made.encoder.attributes.reader.head.weight, std=0.3)
    whole = made.particles(seen)
    above = float(whole.transparency.median())  # about half of the particles are on
    some = made.particles(seen, above)
    on = whole.transparency >= above
    assert 0 < on.float().mean() < 1
    torch.testing.assert_close(some.values[on], whole.values[on], rtol=1e-4, atol=1e-4)
    assert (some.features[~on] == 0).all()
    assert (some.place == whole.place).all()


@pytest.mark.parametrize("name", MODELS)
def test_encoding_is_deterministic_and_no_matter_of_the_batch(name):
    made, seen = model(name), frames(name, 4, 2)
    whole, again = made.encode(seen), made.encode(seen)
    assert (whole.values == again.values).all()
    alone = made.encode(seen[1:2, 1:2])
    torch.testing.assert_close(alone.values[0, 0], whole.values[1, 1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_training_leaves_the_global_stream_alone_and_repeats_with_its_own(name):
    made, seen = model(name), frames(name)
    before = torch.random.get_rng_state()
    losses = [made.loss(seen, 5, torch.Generator().manual_seed(1))[0].item() for _ in range(2)]
    assert losses[0] == losses[1]
    assert (torch.random.get_rng_state() == before).all()


def test_a_bright_square_is_found_at_its_row_and_column():
    config = replace(TINY, proposer="patches", heat_start=0.5, conv_start=0.1, particles=1)
    config = replace(config, image=128, patch=16, glimpse=16, decoder_side=8)
    torch.manual_seed(0)
    made = DLP(config)
    seen = torch.full((1, 1, 128, 128, 3), 60, dtype=torch.uint8)
    seen[0, 0, 84:90, 22:28] = 250  # inside the patch of rows 80 to 95, columns 16 to 31
    place = (made.particles(seen).place[0, 0, 0] + 1) / 2 * 127
    assert 80 <= place[0] < 96
    assert 16 <= place[1] < 32


@pytest.mark.parametrize("name", MODELS)
def test_reconstructions_are_frames(name):
    seen = frames(name, 3)
    drawn = model(name).reconstruct(seen)
    assert drawn.shape == seen.shape
    assert drawn.dtype == torch.uint8


def test_in_the_warm_up_only_appearance_learns_from_pixels():
    made, seen = model("paper"), frames("paper")
    quiet = replace(MODELS["paper"], kl=0.0)
    made.config = quiet
    assert [made.phase(step) for step in range(3)] == ["warmup", "noisy", "normal"]
    made.loss(seen, 0)[0].backward()
    assert _moved(made.encoder.appearance)
    assert _moved(made.decoder)
    for part in (made.encoder.prior, made.encoder.attributes, made.background_encoder):
        assert not _moved(part)
    assert not _moved(made.background_decoder)


def test_noisy_steps_move_places_but_not_scales():
    made, seen = model("paper"), frames("paper")
    made.config = replace(MODELS["paper"], kl=0.0)
    head = made.encoder.attributes.reader.head
    made.loss(seen, 1)[0].backward()
    assert head.weight.grad[:2].abs().max() > 0  # offset
    assert head.weight.grad[6:8].abs().max() == 0  # spread of scales
    made.zero_grad()
    made.loss(seen, 2)[0].backward()
    assert head.weight.grad[6:8].abs().max() > 0


@pytest.mark.parametrize("name", MODELS)
def test_every_weight_learns(name):
    made = model(name)
    made.loss(frames(name), 9)[0].backward()
    for part, weight in made.named_parameters():
        assert weight.grad is not None, part
        assert torch.isfinite(weight.grad).all(), part


@pytest.mark.parametrize("name", MODELS)
def test_the_parts_of_the_loss_make_the_whole(name):
    config = MODELS[name]
    total, terms = model(name).loss(frames(name), 9)
    weights = {"chamfer": config.chamfer, "depth": config.depth, "features": config.balance}
    weights |= {"offset": 1.0, "scale": 1.0, "transparency": 1.0, "background": config.balance}
    weights |= {"center": config.center, "heat": config.heat}
    parts = sum(weights[key] * terms[key] for key in weights if key in terms)
    expected = terms["pixels"] + config.kl * parts + config.crowd * terms["on"]
    torch.testing.assert_close(total.detach(), expected)


def test_a_fresh_lite_model_starts_calmly():
    made, seen = model("lite"), frames("lite", 8)
    found = made.encoder.find(seen.flatten(0, 1).permute(0, 3, 1, 2) / 255)
    torch.testing.assert_close(found.place.mean, found.anchors)
    assert (0.5 * found.offset.logvar).exp().mean().item() == pytest.approx(0.01)
    torch.testing.assert_close(found.scale.mean.sigmoid(), torch.full((8, 6, 2), 8 / 32))
    torch.testing.assert_close(found.transparency.mean, torch.full((8, 6), 0.5))


def test_transparency_is_sampled_only_where_the_configuration_says_so():
    made, seen = model("lite"), frames("lite")
    on = [made.loss(seen, 0, torch.Generator().manual_seed(s))[1]["on"] for s in range(2)]
    assert on[0] == on[1]
    made.config = replace(TINY, sample_beta=True)
    on = [made.loss(seen, 0, torch.Generator().manual_seed(s))[1]["on"] for s in range(2)]
    assert on[0] != on[1]


def test_hotter_heatmaps_find_more_squares_before_any_training():
    seen, centers = squares(32)

    def near(config: DLPConfig) -> float:
        hits = []
        for seed in range(3):
            torch.manual_seed(seed)
            place = DLP(config).particles(seen).place
            gap = (centers[..., None, :] - place[..., None, :, :]).abs().amax(-1)
            hits.append((gap.amin(-1) < 8 / 31).float().mean())  # half a patch away at most
        return torch.stack(hits).mean().item()

    patches = replace(TINY, proposer="patches", prior_plan=((16, 1), (32, 2), (32, 2)))
    assert near(replace(patches, heat_start=0.5)) > near(replace(patches, heat_start=0.01)) + 0.1


def test_backgrounds_start_at_the_median():
    made, (seen, _) = model("lite"), squares(9)
    made.begin(seen)
    drawn = made.background_images(torch.zeros(1, 3, 32, 32), 1)[0]
    torch.testing.assert_close(drawn, torch.full((3, 32, 32), 70 / 255), rtol=0, atol=1e-3)


def test_a_tiny_lite_model_learns_one_batch_of_squares():
    torch.manual_seed(0)
    rng = torch.Generator().manual_seed(0)
    made, (seen, centers) = DLP(replace(TINY, particles=8)), squares(8)
    made.begin(seen)
    empty = (seen - 70.0).div(255).square().sum((2, 3, 4)).mean()  # the background alone
    adam = torch.optim.Adam(made.parameters(), 1e-3, eps=1e-6)
    for step in range(160):
        loss, terms = made.loss(seen, step, rng)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert terms["pixels"] < empty / 3
    assert _recall(made.particles(seen), centers, radius=2 / 15.5) > 0.3


def _recall(particles: Particles, centers: torch.Tensor, radius: float) -> float:
    """Part of the squares that a particle which is there lies on."""
    gap = (centers[..., None, :] - particles.place[..., None, :, :]).norm(dim=-1)
    gap = gap.masked_fill((particles.transparency < 0.5)[..., None, :], torch.inf)
    return (gap.min(-1).values < radius).float().mean().item()


def _moved(part: torch.nn.Module) -> bool:
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
def test_what_are_no_frames_is_refused_in_plain_words(bad, words):
    with pytest.raises(BadValueError, match=words):
        model("lite").encode(bad)


def test_views_that_have_no_background_are_refused():
    with pytest.raises(BadValueError, match="backgrounds of 1 cameras, but the frames have 2"):
        model("lite").loss(frames("lite", views=2), 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"patch": 5}, "multiple of the patch"),
        ({"particles": 40}, "at most the one before"),
        ({"glimpse": 24}, "cannot be doubled"),
        ({"passes": 3}, "1 or 2 attribute passes"),
        ({"background": "conv"}, "background='image'"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change, words):
    with pytest.raises(BadValueError, match=words):
        replace(TINY, **change)


@pytest.mark.parametrize("name", MODELS)
def test_the_plain_encoder_of_the_benchmarks_finds_the_same(name, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    from plain_dlp import PlainEncoder

    made, seen = model(name), frames(name, 2, 2)
    plain, ours = PlainEncoder(made)(seen).values, made.particles(seen).values
    torch.testing.assert_close(plain, ours, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_weights_survive_a_checkpoint(name, tmp_path):
    made, seen = model(name), frames(name)
    made.begin(seen)
    checkpoint.save(tmp_path / "dlp.safetensors", made.state_dict(), {})
    tensors, _ = checkpoint.load(tmp_path / "dlp.safetensors")
    other = DLP(MODELS[name])
    checkpoint.fill(other, tensors, "", "the particles")
    assert (other.encode(seen).values == made.encode(seen).values).all()
    assert (other.reconstruct(seen) == made.reconstruct(seen)).all()


@pytest.mark.parametrize(("hidden", "width"), [("scale", 7), ("depth", 8), ("mask", 9)])
def test_an_encoder_that_tells_less_says_the_rest_as_before(hidden, width):
    full, seen = model("lite").eval(), frames("lite")
    less = telling_less(full, (hidden,))
    one, two = full.encode(seen), less.encode(seen)
    assert two.shape == (1, TINY.particles, width) == (1, *less.shape)
    assert (one.values[..., :2] == two.values[..., :2]).all()
    assert two.visible.all() if hidden == "mask" else (one.visible == two.visible).all()


def test_only_particles_can_tell_less():
    with pytest.raises(BadValueError, match="'vae'"):
        telling_less(build("vae", LITE_VAE), ("scale",))
