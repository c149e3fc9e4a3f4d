"""Real models through the eyes of the probe."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from painted import SIZE, VIEWS, paint  # noqa: E402

from jostle.frames.reader import Frames  # noqa: E402
from jostle.particles.config import LITE_DLP  # noqa: E402
from jostle.particles.dlp import DLP  # noqa: E402
from jostle.particles.slots import LITE_SLOTS, SlotModel  # noqa: E402
from jostle.particles.vae import LITE_VAE, VAE  # noqa: E402
from jostle.probing.looking import glance, psnr, slot_places  # noqa: E402
from jostle.probing.measure import measure  # noqa: E402

MODELS = {
    "particles": lambda: DLP(replace(LITE_DLP, image=SIZE, patch=8, box_prior=14 / SIZE)),
    "slots": lambda: SlotModel(replace(LITE_SLOTS, image=SIZE, channels=8, width=8)),
    "vector": lambda: VAE(replace(LITE_VAE, image=SIZE, multipliers=(1, 1, 1, 1, 1))),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("painted"), episodes=8)


@pytest.fixture(scope="module")
def frames(folder):
    return torch.from_numpy(Frames(folder).batch(np.arange(3)))


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_model_can_be_measured(kind, folder):
    torch.manual_seed(0)
    found = measure(MODELS[kind](), folder)
    assert found.kind == kind
    assert found.total.psnr > 0
    assert (found.total.recall is None) == (kind == "vector")


def test_the_probe_sees_what_agents_see(frames):
    torch.manual_seed(0)
    made = MODELS["particles"]()
    sight, entities = glance(made, frames)[0], made.encode(frames)
    np.testing.assert_array_equal(sight.visible, entities.visible.numpy())
    place = made.particles(frames).place.double().numpy()
    np.testing.assert_allclose(sight.places, (place + 1) / 2 * (SIZE - 1))


def test_shares_of_slots_add_up_to_one_in_every_pixel(frames):
    for behind in (False, True):
        torch.manual_seed(0)
        made = SlotModel(replace(MODELS["slots"]().config, on_median=behind))
        shares = made.masks(made.encode(frames))
        assert shares.shape == (3, VIEWS, 10, SIZE, SIZE)
        whole = shares.sum(2)
        if behind:
            assert (whole < 1).all(), "the rest is the background's"
        else:
            torch.testing.assert_close(whole, torch.ones(3, VIEWS, SIZE, SIZE))


def test_a_slot_is_in_the_middle_of_the_pixels_it_wins():
    winners = np.zeros((1, 1, 6, 8), np.uint8)
    winners[0, 0, 1:4, 2:7] = 2
    places, won = slot_places(winners, 4)
    np.testing.assert_allclose(places[0, 0, 2], (2, 4))
    assert won[0, 0].tolist() == [True, False, True, False]
    winners[0, 0, 0] = 4  # nobody
    places, won = slot_places(winners, 4)
    np.testing.assert_allclose(places[0, 0, 2], (2, 4))
    assert won.shape == (1, 1, 4)


def test_psnr_is_that_of_the_mean_squared_error():
    frames = torch.full((1, 2, 4, 4, 3), 100, dtype=torch.uint8)
    drawn = frames.clone()
    drawn[0, 1] = 151
    same, other = psnr(frames, drawn)[0]
    assert other == pytest.approx(20 * np.log10(255 / 51))
    assert same > 60
