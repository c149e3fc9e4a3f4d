"""Encoders on the shelf: found by name, replaced only by better ones, held to their cards."""

import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from promises import hold_encoder_to_card  # noqa: E402

from jostle.core.checkpoint import CheckpointError  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.core.rundir import RunDir  # noqa: E402
from jostle.pretraining.start import begin  # noqa: E402
from jostle.rollout.collection import Collection  # noqa: E402
from jostle.rollout.snapshots import Pace, collect  # noqa: E402
from jostle.zoo import relay as room  # noqa: E402
from jostle.zoo.agents import agent_for, weights_for  # noqa: E402
from jostle.zoo.encoders import encoder_for, encoder_weights  # noqa: E402
from jostle.zoo.keeping_encoders import (  # noqa: E402
    better,
    is_encoder_run,
    keep_encoder_if_better,
)
from jostle.zoo.relay import Relay, Wanted, read_queue  # noqa: E402
from jostle.zoo.shelf import agents, encoders, find, shelf  # noqa: E402
from synthetic_frames import tiny, write_frames  # noqa: E402


def quiet(row) -> None:
    del row


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_frames(tmp_path_factory.mktemp("frames"))


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> RunDir:
    """A finished tiny run of slots."""
    found = RunDir(tmp_path_factory.mktemp("runs") / "run")
    begin(tiny(data, "slots", steps=20), found.path, quiet).run()
    return found


def test_a_run_goes_onto_the_shelf_with_card_and_curve(run, tmp_path):
    heard: list[str] = []
    loss = keep_encoder_if_better("eyes", run, heard.append, tmp_path)
    entry = find("eyes", tmp_path)
    assert entry.encoder == "slots"
    assert entry.headline() == "eyes: slots for frames of 32 pixels"
    card = entry.card.read_text()
    assert f"| validation loss | {loss:.5g} |" in card
    assert "jostle pretrain slots --preset lite" in card
    assert "model.slots: 10 there, 3 here" in card
    assert '{"task": "Squares"}' in card
    assert "20 steps, 160 images" in card
    assert str(run.path) not in card
    assert (tmp_path / "eyes.png").stat().st_size > 5000
    assert encoders(tmp_path) == shelf(tmp_path)
    assert agents(tmp_path) == {}
    assert heard == [f"eyes: kept, validation loss {loss:.5g}"]


def test_an_encoder_is_found_by_name_run_and_file(run, tmp_path):
    keep_encoder_if_better("eyes", run, print, tmp_path)
    states = [
        encoder_for(word, tmp_path)[0].state_dict()
        for word in ("eyes", str(run.path), str(run.best))
    ]
    for name, tensor in states[0].items():
        assert all(torch.equal(tensor, other[name]) for other in states[1:])
    with pytest.raises(UnknownNameError, match="Did you mean 'eyes'"):
        encoder_weights("eye", tmp_path)
    with pytest.raises(CheckpointError, match="holds an agent"):
        encoder_for(next(iter(agents())))
    with pytest.raises(CheckpointError, match="which sees but does not act"):
        agent_for(str(run.path), None)
    with pytest.raises(UnknownNameError, match="no agent called 'eyes'"):
        weights_for("eyes")


def test_an_encoder_is_replaced_only_by_a_better_one(data, run, tmp_path):
    long, short = run, RunDir(tmp_path / "short")
    begin(tiny(data, "slots", steps=2), short.path, quiet).run()
    zoo, heard = tmp_path / "zoo", []
    keep_encoder_if_better("eyes", short, heard.append, zoo)
    worse = find("eyes", zoo).weights.read_bytes()
    kept = keep_encoder_if_better("eyes", long, heard.append, zoo)
    good = find("eyes", zoo).weights.read_bytes()
    assert good != worse
    assert keep_encoder_if_better("eyes", short, heard.append, zoo) == pytest.approx(kept)
    assert find("eyes", zoo).weights.read_bytes() == good
    assert "new," in heard[-1]
    assert not better({"val_loss": 1.0}, {"val_loss": 1.0})


def test_names_of_others_and_unfinished_runs_are_refused(data, run, tmp_path):
    keep_encoder_if_better("eyes", run, print, tmp_path / "zoo")
    other = RunDir(tmp_path / "vae")
    trainer = begin(tiny(data, "vae", steps=4), other.path, quiet)
    assert is_encoder_run(other)
    with pytest.raises(BadValueError, match="Nothing was validated yet"):
        keep_encoder_if_better("eyes", other, print, tmp_path / "zoo")
    trainer.run()
    with pytest.raises(BadValueError, match="'eyes' is slots, not vae"):
        keep_encoder_if_better("eyes", other, print, tmp_path / "zoo")


def test_a_card_is_checked_against_frames_like_those_learnt_from(tmp_path):
    wish = Collection(task="TwoCubes", size=32, truth=False)
    collect(wish, 180, tmp_path / "frames", Pace(copies=5))
    run = RunDir(tmp_path / "run")
    begin(tiny(tmp_path / "frames", "slots", steps=20), run.path, quiet).run()
    keep_encoder_if_better("eyes", run, print, tmp_path / "zoo")
    entry = find("eyes", tmp_path / "zoo")
    hold_encoder_to_card(entry, tmp_path / "check")
    text = entry.card.read_text()
    entry.card.write_text(re.sub(r"\| pixels \| .*? \|", "| pixels | 1e-3 |", text))
    with pytest.raises(AssertionError):
        hold_encoder_to_card(entry, tmp_path / "check")


def make(tmp_path, data, heard, target: float = -1.0) -> Relay:
    queue = [
        Wanted(
            name="eyes", encoder="slots", preset="lite", data=str(data), minutes=9, target=target
        )
    ]
    return Relay(queue, tmp_path / "runs", heard.append, tmp_path / "zoo", threads=1)


def test_a_pretraining_goes_on_over_turns_and_ends_on_the_shelf(data, tmp_path, monkeypatch):
    heard: list[str] = []
    monkeypatch.setattr(room, "recipe", lambda kind, preset: tiny("", kind))
    relay = make(tmp_path, data, heard)
    relay.turn(relay.next(), minutes=0.0)  # over after its first step
    assert "eyes: saved at 1 steps" in heard
    relay = make(tmp_path, data, heard)  # a new process knows all of it
    relay.turn(relay.next(), minutes=9)
    assert any("goes on" in text for text in heard)
    assert relay.next() is None, "the pretraining came to its end"
    assert find("eyes", tmp_path / "zoo").encoder == "slots"
    loss = relay._book()["eyes"]["loss"]
    assert f"eyes: kept, validation loss {loss:.5g}" in heard
    book = {"eyes": {"minutes": 0, "loss": loss, "done": False}}
    (tmp_path / "runs/relay.json").write_text(json.dumps(book))
    assert relay.next() is not None
    assert make(tmp_path, data, heard, target=loss).next() is None, "the target is reached"


def test_queues_with_encoders_are_read_and_checked(tmp_path):
    path, head = tmp_path / "queue.toml", '[[training]]\nname = "a"\nminutes = 1\ntarget = 1\n'
    path.write_text(head + 'encoder = "dlp"\npreset = "lite"\ndata = "frames"')
    assert read_queue(path)[0].encoder == "dlp"
    for more, error, says in (
        ('encoder = "dpl"\npreset = "lite"\ndata = "x"', UnknownNameError, "Did you mean 'dlp'"),
        ('encoder = "dlp"\npreset = "light"\ndata = "x"', UnknownNameError, "preset of dlp"),
        ('encoder = "dlp"\npreset = "lite"', BadValueError, "lacks the frames"),
        ('preset = "one-cube-state"\ndata = "x"', BadValueError, "names no encoder"),
    ):
        path.write_text(head + more)
        with pytest.raises(error, match=says):
            read_queue(path)


def test_curves_of_agents_and_encoders_share_no_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    from jostle.reports.curves import draw_curves, read_curve

    agent = [{"success": 0.5, "success_fraction": 0.6, "updates": 3, "seconds": 1.0}]
    with pytest.raises(BadValueError, match="share no axis"):
        draw_curves({"a": read_curve(run.metrics), "b": agent}, tmp_path / "a.png")


def test_weights_whose_files_are_damaged_belong_to_nobody(run, tmp_path):
    keep_encoder_if_better("eyes", run, print, tmp_path)
    entry = find("eyes", tmp_path)
    entry.weights.write_bytes(entry.weights.read_bytes()[:100])
    assert entry.encoder is None
    entry.weights.write_bytes(b"")
    assert entry.encoder is None


def test_recall_decides_where_it_was_measured():
    well, badly = {"val_loss": 2.0, "recall": 0.9}, {"val_loss": 1.0, "recall": 0.8}
    assert better(well, badly)
    assert not better(badly, well)
    assert better({"val_loss": 1.0}, well)


def test_a_card_tells_how_well_objects_are_found(tmp_path):
    folder = tmp_path / "one-cube"
    wish = Collection(task="OneCube", size=32, steps=2, seed=5)
    collect(wish, 24, folder, Pace(copies=2, threads=1))
    made = RunDir(tmp_path / "run")
    begin(tiny(folder, "slots", steps=4), made.path, quiet).run()
    keep_encoder_if_better("eyes", made, quiet, tmp_path / "zoo", [folder])
    card = find("eyes", tmp_path / "zoo").card.read_text()
    assert re.search(r"\| probe, one-cube \| recall \d\.\d{3}, ", card)
    heard: list[str] = []
    keep_encoder_if_better("eyes", made, heard.append, tmp_path / "zoo", [folder])
    assert any("mean recall" in line for line in heard)
