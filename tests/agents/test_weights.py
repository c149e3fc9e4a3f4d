"""Weights of agents in files: saved whole, loaded exactly, refused with the reason."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from batches import make_agent, random_batch  # noqa: E402

from jostle.agents.weights import load_weights, net_tensors  # noqa: E402
from jostle.core.checkpoint import CheckpointError, load, save  # noqa: E402
from jostle.core.file_format import OLD_FORMAT  # noqa: E402
from jostle.nets.config import PAPER_NET  # noqa: E402


def test_a_saved_agent_continues_learning_bit_for_bit(tmp_path):
    original, restored = make_agent(), make_agent(seed=5)
    for seed in range(5):
        original.update(random_batch(32, seed))
    save(tmp_path / "agent.safetensors", *original.state_dict())
    restored.load_state_dict(*load(tmp_path / "agent.safetensors"))
    assert restored.updates == 5
    for seed in range(5, 10):
        left, right = (agent.update(random_batch(32, seed)) for agent in (original, restored))
        assert left.keys() == right.keys()
        assert all((left[key] == right[key]).all() for key in left)
    pairs = zip(original.actor.parameters(), restored.actor.parameters(), strict=True)
    assert all((left == right).all() for left, right in pairs)


def test_weights_of_another_width_are_refused_with_the_reason(tmp_path):
    save(tmp_path / "w.safetensors", net_tensors(make_agent(PAPER_NET)), {})
    tensors, _ = load(tmp_path / "w.safetensors")
    with pytest.raises(CheckpointError, match="Another width or task"):
        load_weights(make_agent(replace(PAPER_NET, embed_dim=32)), tensors)
    with pytest.raises(CheckpointError, match="no actor"):
        load_weights(make_agent(), {"x": torch.zeros(1)})


def test_damaged_foreign_and_old_files_are_refused(tmp_path):
    from safetensors.torch import save_file

    good = tmp_path / "good.safetensors"
    save(good, net_tensors(make_agent()), {"a": 1})
    (tmp_path / "cut.safetensors").write_bytes(good.read_bytes()[:1000])
    save_file({"x": torch.zeros(1)}, tmp_path / "foreign.safetensors")
    save_file({"x": torch.zeros(1)}, tmp_path / "old.safetensors", {"format": OLD_FORMAT})
    for name, message in (
        ("cut", "damaged"),
        ("foreign", "not of this package"),
        ("old", "scripts/upgrade_format.py"),
        ("missing", "no checkpoint"),
    ):
        with pytest.raises(CheckpointError, match=message):
            load(tmp_path / f"{name}.safetensors")


def test_a_failed_write_keeps_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    save(path, {"x": torch.ones(2)}, {})
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(CheckpointError, match="disk full"):
        save(path, {"x": torch.zeros(2)}, {})
    assert load(path)[0]["x"].sum() == 2
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]
