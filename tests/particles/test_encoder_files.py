"""Encoders by name, and in files that say what they are."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from jostle.core.checkpoint import CheckpointError, load, save  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.particles.catalog import KINDS, build, kind_of, read_config  # noqa: E402
from jostle.particles.saving import load_encoder, save_encoder  # noqa: E402
from jostle.training.recall import recall  # noqa: E402
from jostle.zoo.shelf import agents  # noqa: E402
from synthetic_frames import tiny_model  # noqa: E402

EVERY = [(kind, preset) for kind in KINDS for preset in KINDS[kind].presets]


def frames(seed: int = 0):
    rng = torch.Generator().manual_seed(seed)
    return torch.randint(256, (2, 2, 32, 32, 3), dtype=torch.uint8, generator=rng)


@pytest.mark.parametrize(("kind", "preset"), EVERY)
def test_every_preset_survives_json_with_its_tuples(kind, preset):
    config = KINDS[kind].presets[preset]
    assert read_config(kind, json.loads(json.dumps(asdict(config)))) == config
    assert kind_of(config) == kind


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_comes_back_from_its_file_bit_by_bit(kind, tmp_path):
    model, path = build(kind, tiny_model(kind)), tmp_path / "a.safetensors"
    save_encoder(path, model, {"note": "mine"})
    again, meta = load_encoder(path)
    assert again.config == model.config
    assert meta["note"] == "mine"
    assert meta["encoder"]["shape"] == list(model.shape)
    one, two = model.encode(frames()), again.encode(frames())
    assert torch.equal(one.values, two.values)
    assert torch.equal(model.reconstruct(frames()), again.reconstruct(frames()))


def test_wrong_names_are_answered_with_the_nearest_right_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'slots'"):
        build("slot", tiny_model("slots"))
    with pytest.raises(UnknownNameError, match="preset of dlp called 'light'"):
        KINDS["dlp"].presets["light"]
    with pytest.raises(UnknownNameError, match="Did you mean 'particles'"):
        read_config("dlp", {"particle": 3})
    with pytest.raises(BadValueError, match="'vae' is built by VAEConfig, not by DLPConfig"):
        build("vae", tiny_model("dlp"))


def spoiled(path: Path, **changes) -> Path:
    """A good file whose entry about its encoder was changed."""
    save_encoder(path, build("slots", tiny_model("slots")), {})
    tensors, meta = load(path)
    entry = {**meta["encoder"], **changes}
    save(path, tensors, {"encoder": entry})
    return path


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "particles"}, "no encoder called 'particles'"),
        ({"config": {"slot": 4}}, "slots has no 'slot'. Did you mean 'slots'"),
        ({"config": {"slots": 0, "image": 32}}, "at least 1 slot"),
        ({"config": None}, "does not fit this version"),
        ({"config": asdict(replace(tiny_model("slots"), width=16))}, "do not fit"),
        ({"kind": "vae", "config": asdict(tiny_model("vae"))}, "another kind of network"),
    ],
)
def test_files_of_another_version_are_refused_in_one_sentence(changes, says, tmp_path):
    with pytest.raises(CheckpointError, match=says):
        load_encoder(spoiled(tmp_path / "a.safetensors", **changes))


def test_agents_and_encoders_are_not_taken_for_each_other(tmp_path):
    agent = next(iter(agents().values()))
    with pytest.raises(CheckpointError, match="holds an agent, but an encoder is wanted"):
        load_encoder(agent.weights)
    with pytest.raises(CheckpointError, match=r"holds an encoder \(slots\), which sees but"):
        recall(spoiled(tmp_path / "a.safetensors"))
    save(tmp_path / "b.safetensors", {}, {})
    with pytest.raises(CheckpointError, match="does not say what it holds"):
        load_encoder(tmp_path / "b.safetensors")


def test_broken_files_are_refused_in_words(tmp_path):
    path = spoiled(tmp_path / "a.safetensors")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(CheckpointError, match="damaged or no checkpoint"):
        load_encoder(path)
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        load_encoder(tmp_path / "nowhere.safetensors")
