"""Encoders encode and learn on any device: no tensor is left behind on the CPU."""

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from jostle.encoders.catalog import ENCODERS, build_encoder  # noqa: E402
from jostle.rollout.pixel_observer import PixelObserver  # noqa: E402
from synthetic_frames import tiny_model  # noqa: E402

META = torch.device("meta")


def frames():
    return torch.zeros(2, 2, 32, 32, 3, dtype=torch.uint8, device=META)


@pytest.mark.parametrize("kind", ENCODERS)
def test_encoding_runs_on_the_encoders_device(kind):
    with FakeTensorMode():
        with META:
            model = build_encoder(kind, tiny_model(kind))
        entities = model.encode(frames())
        assert entities.values.device == META
        assert entities.visible.device == META


@pytest.mark.parametrize("kind", ENCODERS)
def test_a_step_of_pretraining_runs_on_the_encoders_device(kind):
    with FakeTensorMode():
        with META:
            model = build_encoder(kind, tiny_model(kind))
        optimizer = torch.optim.Adam(model.parameters())
        loss, log = model.loss(frames(), 5)
        loss.backward()
        optimizer.step()
        assert {value.device for value in log.values()} == {META}


@pytest.mark.parametrize("kind", ENCODERS)
def test_an_observer_moves_its_encoder_to_its_device(kind):
    model = build_encoder(kind, tiny_model(kind))
    PixelObserver(model, ("front", "side"), device=META)
    assert {weight.device for weight in model.state_dict().values()} == {META}
