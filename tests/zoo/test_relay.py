"""The relay: takes turns, keeps only what is better, forgets nothing."""

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.presets.catalog import PRESETS  # noqa: E402
from jostle.zoo import relay as room  # noqa: E402
from jostle.zoo.relay import Relay, Wanted, read_queue  # noqa: E402
from jostle.zoo.shelf import find, shelf  # noqa: E402

PRESET = PRESETS["one-cube-state-distill"]
TINY = replace(
    PRESET,
    td3=replace(PRESET.td3, batch=16),
    training=replace(
        PRESET.training, copies=4, env_steps=4 * 30 * 4, memory=2000, updates_per_step=0.1,
        examine_every=2, examine_episodes=4, save_every=2, threads=1,
    ),
)  # fmt: skip


@pytest.fixture
def heard(monkeypatch):
    monkeypatch.setattr(room, "PRESETS", {"tiny": TINY})
    return []


def make(tmp_path, heard, target: float = 2.0) -> Relay:
    queue = [Wanted(name="a", preset="tiny", minutes=10, target=target)]
    return Relay(queue, tmp_path / "runs", heard.append, tmp_path / "zoo", episodes=6)


def test_a_training_goes_on_over_turns_and_ends_on_the_shelf(tmp_path, heard):
    relay = make(tmp_path, heard)
    relay.turn(relay.next(), minutes=0.0)  # over after its first round
    assert "saved at 120 steps" in " ".join(heard)
    assert relay.next() is not None
    relay = make(tmp_path, heard)  # a new process knows all of it
    relay.turn(relay.next(), minutes=10)
    assert any("goes on" in text for text in heard)
    assert relay.next() is None, "the training came to its end"
    entry = find("a", tmp_path / "zoo")
    assert "jostle evaluate a --task OneCube" in entry.card.read_text()
    assert "distill" in entry.card.read_text()
    book = json.loads((tmp_path / "runs/relay.json").read_text())
    assert book["a"]["done"] is True


def test_weights_are_replaced_only_by_better_ones(tmp_path, heard):
    relay = make(tmp_path, heard)
    relay.turn(relay.next(), minutes=10)
    before = find("a", tmp_path / "zoo").weights.read_bytes()
    (tmp_path / "runs/relay.json").unlink()
    relay.turn(relay.next(), minutes=10)  # nothing left to train: the same weights, judged again
    assert "No difference at all" in " ".join(heard)
    assert find("a", tmp_path / "zoo").weights.read_bytes() == before


def test_a_lost_run_starts_again_from_the_zoo(tmp_path, heard):
    import shutil

    relay = make(tmp_path, heard)
    relay.turn(relay.next(), minutes=10)
    shutil.rmtree(tmp_path / "runs")
    relay.turn(relay.next(), minutes=0.0)
    assert any("from the zoo's weights" in text for text in heard)


def test_a_training_may_begin_with_the_weights_of_another_and_keeps_their_depth(tmp_path, heard):
    deep = replace(TINY, net=replace(TINY.net, rounds=2))
    room.PRESETS["deep"] = deep
    first = [Wanted(name="a", preset="deep", minutes=10, target=2.0)]
    relay = Relay(first, tmp_path / "runs", heard.append, tmp_path / "zoo", episodes=6)
    relay.turn(relay.next(), minutes=10)
    second = [Wanted(name="b", preset="tiny", minutes=10, target=2.0, start="a")]
    relay = Relay(second, tmp_path / "runs", heard.append, tmp_path / "zoo", episodes=6)
    relay.turn(relay.next(), minutes=0.0)
    assert "b: starts from the zoo's weights" in heard
    written = json.loads((tmp_path / "runs/b/experiment.json").read_text())
    assert written["net"]["rounds"] == 2


def test_a_reached_target_ends_a_training(tmp_path, heard):
    relay = make(tmp_path, heard, target=0.0)
    assert relay.next() is None


def test_the_projects_own_queue_can_be_read():
    from pathlib import Path

    queue = read_queue(Path(__file__).parents[2] / "recipes/queue.toml")
    assert len(queue) >= 3


def test_wrong_queues_are_refused_in_words(tmp_path):
    path = tmp_path / "queue.toml"
    for text, error, says in (
        ("x = 1", BadValueError, "no queue"),
        ('[[training]]\nname = "a"', BadValueError, "no queue"),
        (
            '[[training]]\nname = "a"\npreset = "one-cub-state"\nminutes = 1\ntarget = 1',
            UnknownNameError,
            "one-cube-state",
        ),
    ):
        path.write_text(text)
        with pytest.raises(error, match=says):
            read_queue(path)
    with pytest.raises(UnknownNameError, match="zoo has no"):
        find("nobody", tmp_path)
    assert shelf(tmp_path) == {}
