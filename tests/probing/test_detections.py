"""Detections of real encoders."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from painted import SIZE, VIEWS, paint  # noqa: E402

from jostle.encoders.dlp import DLP  # noqa: E402
from jostle.encoders.dlp_config import LITE_DLP  # noqa: E402
from jostle.encoders.slot_config import LITE_SLOTS  # noqa: E402
from jostle.encoders.slots import SlotModel  # noqa: E402
from jostle.encoders.vae import VAE  # noqa: E402
from jostle.encoders.vae_config import LITE_VAE  # noqa: E402
from jostle.frames.reader import Frames  # noqa: E402
from jostle.probing.detections import encode_batch, psnr, slot_positions  # noqa: E402
from jostle.probing.probe import probe_encoder  # noqa: E402

MODELS = {
    "particles": lambda: DLP(
        replace(LITE_DLP, image_size=SIZE, patch_size=8, box_size_prior=14 / SIZE)
    ),
    "slots": lambda: SlotModel(replace(LITE_SLOTS, image_size=SIZE, channels=8, slot_dim=8)),
    "vector": lambda: VAE(replace(LITE_VAE, image_size=SIZE, channel_multipliers=(1, 1, 1, 1, 1))),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("painted"), episodes=8)


@pytest.fixture(scope="module")
def frames(folder):
    return torch.from_numpy(Frames(folder).batch(np.arange(3)))


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_encoder_can_be_probed(kind, folder):
    torch.manual_seed(0)
    result = probe_encoder(MODELS[kind](), folder)
    assert result.kind == kind
    assert result.total.psnr > 0
    assert (result.total.recall is None) == (kind == "vector")


def test_detections_are_the_entities_that_agents_get(frames):
    torch.manual_seed(0)
    model = MODELS["particles"]()
    detections, entities = encode_batch(model, frames)[0], model.encode(frames)
    np.testing.assert_array_equal(detections.visible, entities.visible.numpy())
    position = model.particles(frames).position.double().numpy()
    np.testing.assert_allclose(detections.positions, (position + 1) / 2 * (SIZE - 1))


def test_masks_of_slots_sum_to_one_in_every_pixel(frames):
    for subtract_background in (False, True):
        torch.manual_seed(0)
        config = replace(MODELS["slots"]().config, subtract_background=subtract_background)
        model = SlotModel(config)
        masks = model.masks(model.encode(frames))
        assert masks.shape == (3, VIEWS, 10, SIZE, SIZE)
        total = masks.sum(2)
        if subtract_background:
            assert (total < 1).all(), "the rest belongs to the background"
        else:
            torch.testing.assert_close(total, torch.ones(3, VIEWS, SIZE, SIZE))


def test_the_position_of_a_slot_is_the_mean_of_its_pixels():
    slot_argmax = np.zeros((1, 1, 6, 8), np.uint8)
    slot_argmax[0, 0, 1:4, 2:7] = 2
    positions, visible = slot_positions(slot_argmax, 4)
    np.testing.assert_allclose(positions[0, 0, 2], (2, 4))
    assert visible[0, 0].tolist() == [True, False, True, False]
    slot_argmax[0, 0, 0] = 4  # the background
    positions, visible = slot_positions(slot_argmax, 4)
    np.testing.assert_allclose(positions[0, 0, 2], (2, 4))
    assert visible.shape == (1, 1, 4)


def test_psnr_is_computed_from_the_mean_squared_error():
    frames = torch.full((1, 2, 4, 4, 3), 100, dtype=torch.uint8)
    reconstructions = frames.clone()
    reconstructions[0, 1] = 151
    same, other = psnr(frames, reconstructions)[0]
    assert other == pytest.approx(20 * np.log10(255 / 51))
    assert same > 60
