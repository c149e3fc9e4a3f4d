"""The perceptual distance, with weights that somebody brings."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
from safetensors.torch import save_file  # noqa: E402

from jostle.core.checkpoint import CheckpointError  # noqa: E402
from jostle.particles.lpips import _STAGES, _WIDTHS, LPIPS  # noqa: E402
from jostle.particles.vae import LITE_VAE, VAE  # noqa: E402


@pytest.fixture(scope="module")
def brought() -> dict[str, torch.Tensor]:
    """A VGG16 that has not learnt anything."""
    rng, channels, found = torch.Generator().manual_seed(0), 3, {}
    for numbers, width in zip(_STAGES, _WIDTHS, strict=True):
        for number in numbers:
            weight = torch.randn(width, channels, 3, 3, generator=rng) * (2 / (9 * channels)) ** 0.5
            found |= {f"features.{number}.weight": weight}
            found |= {f"features.{number}.bias": torch.zeros(width)}
            channels = width
    return found


def images(seed: int) -> torch.Tensor:
    return torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(seed))


def test_equal_images_have_no_distance_and_others_the_same_both_ways(brought):
    judge, one, two = LPIPS(brought), images(0), images(1)
    assert judge(one, one).item() == 0.0
    assert judge(one, two).item() > 0.0
    torch.testing.assert_close(judge(one, two), judge(two, one))


def test_calibration_weighs_channels(brought):
    lin = {f"lin{n}.model.1.weight": torch.zeros(1, w, 1, 1) for n, w in enumerate(_WIDTHS)}
    assert LPIPS(brought | lin)(images(0), images(1)).item() == 0.0


def test_an_autoencoder_learns_by_it_but_does_not_keep_it(brought, tmp_path):
    save_file(brought, tmp_path / "vgg.safetensors")
    torch.manual_seed(0)
    config = replace(LITE_VAE, image=32, shrink=1, cameras=1, foreground=0.0)
    plain, model = VAE(config), VAE(replace(config, lpips=str(tmp_path / "vgg.safetensors")))
    seen = torch.randint(256, (2, 1, 32, 32, 3), dtype=torch.uint8)
    total, terms = model.loss(seen, 0)
    total.backward()
    assert terms["lpips"] > 0
    assert "edges" not in terms
    assert model.state_dict().keys() == plain.state_dict().keys()
    assert len(list(model.parameters())) == len(list(plain.parameters()))


def test_what_are_no_weights_is_refused_in_plain_words(brought, tmp_path):
    with pytest.raises(CheckpointError, match="no weights for the perceptual distance"):
        LPIPS.read(tmp_path / "absent.safetensors")
    (tmp_path / "pickle.pth").write_bytes(b"\x80\x04 not for us")
    with pytest.raises(CheckpointError, match="no safetensors file"):
        LPIPS.read(tmp_path / "pickle.pth")
    with pytest.raises(CheckpointError, match=r"'features.0.weight' should be .* is missing"):
        LPIPS({})
    with pytest.raises(CheckpointError, match=r"'features.5.bias' should be \(128,\)"):
        LPIPS(brought | {"features.5.bias": torch.zeros(3)})
