"""Encoders by name, and their files."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from jostle.core.checkpoint import CheckpointError, load, save  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.encoders.catalog import ENCODERS, build_encoder, kind_of, parse_config  # noqa: E402
from jostle.encoders.saving import load_encoder, save_encoder  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.zoo.registry import agents  # noqa: E402
from synthetic_frames import tiny_model  # noqa: E402

EVERY = [(kind, preset) for kind in ENCODERS for preset in ENCODERS[kind].presets]


def frames(seed: int = 0):
    rng = torch.Generator().manual_seed(seed)
    return torch.randint(256, (2, 2, 32, 32, 3), dtype=torch.uint8, generator=rng)


@pytest.mark.parametrize(("kind", "preset"), EVERY)
def test_every_preset_survives_a_round_trip_through_json(kind, preset):
    config = ENCODERS[kind].presets[preset]
    assert parse_config(kind, json.loads(json.dumps(asdict(config)))) == config
    assert kind_of(config) == kind


@pytest.mark.parametrize("kind", ENCODERS)
def test_a_saved_encoder_is_loaded_bit_for_bit(kind, tmp_path):
    model, path = build_encoder(kind, tiny_model(kind)), tmp_path / "a.safetensors"
    save_encoder(path, model, {"note": "mine"})
    loaded, meta = load_encoder(path)
    assert loaded.config == model.config
    assert meta["note"] == "mine"
    assert meta["encoder"]["shape"] == list(model.shape)
    assert torch.equal(model.encode(frames()).values, loaded.encode(frames()).values)
    assert torch.equal(model.reconstruct(frames()), loaded.reconstruct(frames()))


def test_unknown_names_are_refused_with_the_nearest_known_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'slots'"):
        build_encoder("slot", tiny_model("slots"))
    with pytest.raises(UnknownNameError, match="preset of dlp called 'light'"):
        ENCODERS["dlp"].presets["light"]
    with pytest.raises(UnknownNameError, match="Did you mean 'num_particles'"):
        parse_config("dlp", {"num_particle": 3})
    with pytest.raises(BadValueError, match="'vae' is built from VAEConfig, not DLPConfig"):
        build_encoder("vae", tiny_model("dlp"))


def changed_file(path: Path, **changes) -> Path:
    """The file of an encoder with changes in its description."""
    save_encoder(path, build_encoder("slots", tiny_model("slots")), {})
    tensors, meta = load(path)
    entry = {**meta["encoder"], **changes}
    save(path, tensors, {"encoder": entry})
    return path


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "particles"}, "no encoder called 'particles'"),
        ({"config": {"num_slot": 4}}, "slots has no 'num_slot'. Did you mean 'num_slots'"),
        ({"config": {"num_slots": 0, "image_size": 32}}, "at least 1 slot"),
        ({"config": None}, "does not fit this version"),
        ({"config": asdict(replace(tiny_model("slots"), slot_dim=16))}, "do not fit"),
        ({"kind": "vae", "config": asdict(tiny_model("vae"))}, "another kind of network"),
    ],
)
def test_files_of_another_version_are_refused(changes, says, tmp_path):
    with pytest.raises(CheckpointError, match=says):
        load_encoder(changed_file(tmp_path / "a.safetensors", **changes))


def test_agents_and_encoders_are_not_confused(tmp_path):
    agent = next(iter(agents().values()))
    with pytest.raises(CheckpointError, match="holds an agent, but an encoder is expected"):
        load_encoder(agent.weights)
    with pytest.raises(
        CheckpointError, match=r"holds an encoder \(slots\), and an agent is wanted"
    ):
        load_agent(changed_file(tmp_path / "a.safetensors"))
    save(tmp_path / "b.safetensors", {}, {})
    with pytest.raises(CheckpointError, match="does not say what it holds"):
        load_encoder(tmp_path / "b.safetensors")


def test_damaged_and_missing_files_are_refused(tmp_path):
    path = changed_file(tmp_path / "a.safetensors")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(CheckpointError, match="damaged or no checkpoint"):
        load_encoder(path)
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        load_encoder(tmp_path / "nowhere.safetensors")
