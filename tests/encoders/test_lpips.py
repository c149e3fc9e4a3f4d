"""The perceptual distance, with weights from a file."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
from safetensors.torch import save_file  # noqa: E402

from jostle.core.checkpoint import CheckpointError  # noqa: E402
from jostle.encoders.lpips import _STAGES, _WIDTHS, LPIPS  # noqa: E402
from jostle.encoders.vae import VAE  # noqa: E402
from jostle.encoders.vae_config import LITE_VAE  # noqa: E402


@pytest.fixture(scope="module")
def vgg16() -> dict[str, torch.Tensor]:
    """Random weights of a VGG16."""
    rng, channels, weights = torch.Generator().manual_seed(0), 3, {}
    for numbers, width in zip(_STAGES, _WIDTHS, strict=True):
        for number in numbers:
            kernel = torch.randn(width, channels, 3, 3, generator=rng) * (2 / (9 * channels)) ** 0.5
            weights |= {f"features.{number}.weight": kernel}
            weights |= {f"features.{number}.bias": torch.zeros(width)}
            channels = width
    return weights


def images(seed: int) -> torch.Tensor:
    return torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(seed))


def test_the_distance_is_zero_for_equal_images_and_symmetric(vgg16):
    lpips, a, b = LPIPS(vgg16), images(0), images(1)
    assert lpips(a, a).item() == 0.0
    assert lpips(a, b).item() > 0.0
    torch.testing.assert_close(lpips(a, b), lpips(b, a))


def test_calibration_weighs_channels(vgg16):
    lin = {f"lin{n}.model.1.weight": torch.zeros(1, w, 1, 1) for n, w in enumerate(_WIDTHS)}
    assert LPIPS(vgg16 | lin)(images(0), images(1)).item() == 0.0


def test_an_autoencoder_trains_with_it_but_does_not_save_its_weights(vgg16, tmp_path):
    save_file(vgg16, tmp_path / "vgg.safetensors")
    torch.manual_seed(0)
    config = replace(LITE_VAE, image_size=32, downscale=1, num_cameras=1, foreground_weight=0.0)
    plain, model = VAE(config), VAE(replace(config, lpips_file=str(tmp_path / "vgg.safetensors")))
    frames = torch.randint(256, (2, 1, 32, 32, 3), dtype=torch.uint8)
    total, terms = model.loss(frames, 0)
    total.backward()
    assert terms["lpips"] > 0
    assert "edges" not in terms
    assert model.state_dict().keys() == plain.state_dict().keys()
    assert len(list(model.parameters())) == len(list(plain.parameters()))


def test_invalid_weights_are_refused(vgg16, tmp_path):
    with pytest.raises(CheckpointError, match="no weights for the perceptual distance"):
        LPIPS.from_file(tmp_path / "absent.safetensors")
    (tmp_path / "pickle.pth").write_bytes(b"\x80\x04 not a tensor file")
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        LPIPS.from_file(tmp_path / "pickle.pth")
    with pytest.raises(CheckpointError, match=r"'features.0.weight' should be .* is missing"):
        LPIPS({})
    with pytest.raises(CheckpointError, match=r"'features.5.bias' should be \(128,\)"):
        LPIPS(vgg16 | {"features.5.bias": torch.zeros(3)})
