"""Encoders in the zoo: loading by name, promotion, model cards, training queue."""

import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from model_cards import check_encoder_card  # noqa: E402

from jostle.core.checkpoint import CheckpointError  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.pretraining.start import start_run  # noqa: E402
from jostle.rollout.frame_collector import CollectOptions, collect_frames  # noqa: E402
from jostle.rollout.frame_dataset import FrameDatasetSpec  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.zoo import queue as queue_module  # noqa: E402
from jostle.zoo.agents import find_weights, load_policy  # noqa: E402
from jostle.zoo.encoders import find_encoder_file, load_encoder_with_meta  # noqa: E402
from jostle.zoo.promote_encoders import (  # noqa: E402
    is_better,
    is_encoder_run,
    promote_encoder,
)
from jostle.zoo.queue import Job, TrainingQueue, read_queue  # noqa: E402
from jostle.zoo.registry import agents, encoders, find_entry, registry  # noqa: E402
from synthetic_frames import tiny, write_frames  # noqa: E402


def ignore(row) -> None:
    del row


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_frames(tmp_path_factory.mktemp("frames"))


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> RunDir:
    """A finished tiny run of slots."""
    finished = RunDir(tmp_path_factory.mktemp("runs") / "run")
    start_run(tiny(data, "slots", steps=20), finished.path, ignore).run()
    return finished


def test_a_run_is_registered_with_card_and_learning_curve(run, tmp_path):
    messages: list[str] = []
    loss = promote_encoder("model", run, messages.append, tmp_path)
    entry = find_entry("model", tmp_path)
    assert entry.encoder == "slots"
    assert entry.headline() == "model: slots for frames of 32 pixels"
    card = entry.card.read_text()
    assert f"| validation loss | {loss:.5g} |" in card
    assert "jostle pretrain slots --preset lite" in card
    assert "model.num_slots: 10 there, 3 here" in card
    assert '{"task": "Squares"}' in card
    assert "20 steps, 160 images" in card
    assert str(run.path) not in card
    assert (tmp_path / "model.png").stat().st_size > 5000
    assert encoders(tmp_path) == registry(tmp_path)
    assert agents(tmp_path) == {}
    assert messages == [f"model: registered, validation loss {loss:.5g}"]


def test_an_encoder_is_loaded_by_name_run_and_file(run, tmp_path):
    promote_encoder("model", run, print, tmp_path)
    states = [
        load_encoder_with_meta(name, tmp_path)[0].state_dict()
        for name in ("model", str(run.path), str(run.best))
    ]
    for key, tensor in states[0].items():
        assert all(torch.equal(tensor, other[key]) for other in states[1:])
    with pytest.raises(UnknownNameError, match="Did you mean 'model'"):
        find_encoder_file("mode", tmp_path)
    with pytest.raises(CheckpointError, match="holds an agent"):
        load_encoder_with_meta(next(iter(agents())))
    with pytest.raises(CheckpointError, match="holds an encoder"):
        load_policy(str(run.path), None)
    with pytest.raises(UnknownNameError, match="no agent called 'model'"):
        find_weights("model")


def test_an_encoder_is_replaced_only_by_a_better_one(data, run, tmp_path):
    long, short = run, RunDir(tmp_path / "short")
    start_run(tiny(data, "slots", steps=2), short.path, ignore).run()
    zoo, messages = tmp_path / "zoo", []
    promote_encoder("model", short, messages.append, zoo)
    before = find_entry("model", zoo).weights.read_bytes()
    best = promote_encoder("model", long, messages.append, zoo)
    after = find_entry("model", zoo).weights.read_bytes()
    assert after != before
    assert promote_encoder("model", short, messages.append, zoo) == pytest.approx(best)
    assert find_entry("model", zoo).weights.read_bytes() == after
    assert "new," in messages[-1]
    assert not is_better({"val_loss": 1.0}, {"val_loss": 1.0})


def test_other_kinds_and_unfinished_runs_are_rejected(data, run, tmp_path):
    promote_encoder("model", run, print, tmp_path / "zoo")
    other = RunDir(tmp_path / "vae")
    trainer = start_run(tiny(data, "vae", steps=4), other.path, ignore)
    assert is_encoder_run(other)
    with pytest.raises(BadValueError, match="no validation yet"):
        promote_encoder("model", other, print, tmp_path / "zoo")
    trainer.run()
    with pytest.raises(BadValueError, match="'model' is slots, not vae"):
        promote_encoder("model", other, print, tmp_path / "zoo")


def test_a_wrong_card_is_detected_on_frames_like_those_of_the_training(tmp_path):
    spec = FrameDatasetSpec(task="TwoCubes", size=32, truth=False)
    collect_frames(spec, 180, tmp_path / "frames", CollectOptions(num_envs=5))
    run = RunDir(tmp_path / "run")
    start_run(tiny(tmp_path / "frames", "slots", steps=20), run.path, ignore).run()
    promote_encoder("model", run, print, tmp_path / "zoo")
    entry = find_entry("model", tmp_path / "zoo")
    check_encoder_card(entry, tmp_path / "check")
    text = entry.card.read_text()
    entry.card.write_text(
        re.sub(r"\| reconstruction loss \| .*? \|", "| reconstruction loss | 1e-3 |", text)
    )
    with pytest.raises(AssertionError):
        check_encoder_card(entry, tmp_path / "check")


def make_queue(tmp_path, data, messages, target: float = -1.0) -> TrainingQueue:
    jobs = [
        Job(name="model", encoder="slots", preset="lite", data=str(data), minutes=9, target=target)
    ]
    return TrainingQueue(jobs, tmp_path / "runs", messages.append, tmp_path / "zoo", threads=1)


def test_a_pretraining_resumes_over_slices_and_is_registered(data, tmp_path, monkeypatch):
    messages: list[str] = []
    monkeypatch.setattr(queue_module, "preset", lambda kind, size: tiny("", kind))
    queue = make_queue(tmp_path, data, messages)
    queue.run_slice(queue.next(), minutes=0.0)  # ends after its first step
    assert "model: saved at 1 steps" in messages
    queue = make_queue(tmp_path, data, messages)  # as in a new process
    queue.run_slice(queue.next(), minutes=9)
    assert any("resumes" in text for text in messages)
    assert queue.next() is None, "the pretraining is finished"
    assert find_entry("model", tmp_path / "zoo").encoder == "slots"
    loss = queue._read_state()["model"]["loss"]
    assert f"model: registered, validation loss {loss:.5g}" in messages
    state = {"model": {"minutes": 0, "loss": loss, "done": False}}
    (tmp_path / "runs/queue.json").write_text(json.dumps(state))
    assert queue.next() is not None
    assert make_queue(tmp_path, data, messages, target=loss).next() is None, "the target is reached"


def test_queue_files_with_encoders_are_read_and_checked(tmp_path):
    path, head = tmp_path / "queue.toml", '[[training]]\nname = "a"\nminutes = 1\ntarget = 1\n'
    path.write_text(head + 'encoder = "dlp"\npreset = "lite"\ndata = "frames"')
    assert read_queue(path)[0].encoder == "dlp"
    for lines, error, message in (
        ('encoder = "dpl"\npreset = "lite"\ndata = "x"', UnknownNameError, "Did you mean 'dlp'"),
        ('encoder = "dlp"\npreset = "light"\ndata = "x"', UnknownNameError, "preset of dlp"),
        ('encoder = "dlp"\npreset = "lite"', BadValueError, "lacks the frames"),
        ('train = "one-cube"\ndata = "x"', BadValueError, "names no encoder"),
    ):
        path.write_text(head + lines)
        with pytest.raises(error, match=message):
            read_queue(path)


def test_agents_and_encoders_are_not_plotted_together(run, tmp_path):
    pytest.importorskip("matplotlib")
    from jostle.reports.learning_curves import plot_learning_curves, read_learning_curve

    agent = [{"success": 0.5, "success_fraction": 0.6, "updates": 3, "seconds": 1.0}]
    with pytest.raises(BadValueError, match="no common axis"):
        plot_learning_curves({"a": [read_learning_curve(run)], "b": [agent]}, tmp_path / "a.png")


def test_damaged_weights_have_no_kind(run, tmp_path):
    promote_encoder("model", run, print, tmp_path)
    entry = find_entry("model", tmp_path)
    entry.weights.write_bytes(entry.weights.read_bytes()[:100])
    assert entry.encoder is None
    entry.weights.write_bytes(b"")
    assert entry.encoder is None


def test_recall_takes_precedence_over_the_loss():
    good, bad = {"val_loss": 2.0, "recall": 0.9}, {"val_loss": 1.0, "recall": 0.8}
    assert is_better(good, bad)
    assert not is_better(bad, good)
    assert is_better({"val_loss": 1.0}, good)


def test_a_card_lists_probe_metrics(tmp_path):
    folder = tmp_path / "one-cube"
    spec = FrameDatasetSpec(task="OneCube", size=32, steps=2, seed=5)
    collect_frames(spec, 24, folder, CollectOptions(num_envs=2, threads=1))
    probed = RunDir(tmp_path / "run")
    start_run(tiny(folder, "slots", steps=4), probed.path, ignore).run()
    promote_encoder("model", probed, ignore, tmp_path / "zoo", [folder])
    card = find_entry("model", tmp_path / "zoo").card.read_text()
    assert re.search(r"\| probe, one-cube \| recall \d\.\d{3}, ", card)
    messages: list[str] = []
    promote_encoder("model", probed, messages.append, tmp_path / "zoo", [folder])
    assert any("mean recall" in line for line in messages)
