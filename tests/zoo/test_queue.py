"""The training queue: time slices, promotion of better weights, state on disk."""

import json
import shutil

import pytest

torch = pytest.importorskip("torch")

from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.zoo.queue import Job, TrainingQueue, read_queue  # noqa: E402
from jostle.zoo.registry import find_entry, read_meta, registry  # noqa: E402

TINY = (
    "one-cube --method dagger --batch-size 16 --num-envs 4 --env-steps 480 --replay-size 2000 "
    "--utd-ratio 0.1 "
    "--eval-every 2 --eval-episodes 4 --save-every 2 --threads 1"
)


@pytest.fixture
def messages() -> list[str]:
    return []


def make_queue(tmp_path, messages, **job) -> TrainingQueue:
    jobs = [Job(**{"name": "a", "train": TINY, "minutes": 10, "target": 2.0, **job})]
    return TrainingQueue(jobs, tmp_path / "runs", messages.append, tmp_path / "zoo", episodes=6)


def test_a_training_resumes_over_slices_and_is_registered(tmp_path, messages):
    queue = make_queue(tmp_path, messages)
    queue.run_slice(queue.next(), minutes=0.0)  # ends after its first iteration
    assert "saved at 120 steps" in " ".join(messages)
    assert queue.next() is not None
    queue = make_queue(tmp_path, messages)  # as in a new process
    queue.run_slice(queue.next(), minutes=10)
    assert any("resumes" in text for text in messages)
    assert queue.next() is None, "the training is finished"
    entry = find_entry("a", tmp_path / "zoo")
    assert "jostle evaluate a --task OneCube" in entry.card.read_text()
    assert "| method | dagger |" in entry.card.read_text()
    state = json.loads((tmp_path / "runs/queue.json").read_text())
    assert state["a"]["done"] is True


def test_weights_are_replaced_only_by_better_ones(tmp_path, messages):
    queue = make_queue(tmp_path, messages)
    queue.run_slice(queue.next(), minutes=10)
    before = find_entry("a", tmp_path / "zoo").weights.read_bytes()
    (tmp_path / "runs/queue.json").unlink()
    queue.run_slice(queue.next(), minutes=10)  # trains no more, evaluates the same weights again
    assert "No difference." in " ".join(messages)
    assert find_entry("a", tmp_path / "zoo").weights.read_bytes() == before


def test_a_lost_run_restarts_from_the_zoo(tmp_path, messages):
    queue = make_queue(tmp_path, messages)
    queue.run_slice(queue.next(), minutes=10)
    shutil.rmtree(tmp_path / "runs")
    queue.run_slice(queue.next(), minutes=0.0)
    assert "a: starts from a" in messages


def test_a_training_initialized_from_another_keeps_its_depth(tmp_path, messages):
    queue = make_queue(tmp_path, messages, train=f"{TINY} --num-layers 2")
    queue.run_slice(queue.next(), minutes=10)
    queue = make_queue(tmp_path, messages, name="b", train=f"{TINY} --from a")
    queue.run_slice(queue.next(), minutes=0.0)
    assert "b: starts from a" in messages
    written = json.loads((tmp_path / "runs/b/experiment.json").read_text())
    assert written["net"]["num_layers"] == 2


@pytest.mark.parametrize(("registered", "teacher"), [(True, "a"), (False, "best")])
def test_a_teacher_given_by_its_path_is_named_on_the_card(tmp_path, messages, registered, teacher):
    queue = make_queue(tmp_path, messages)
    queue.run_slice(queue.next(), minutes=10)
    path = tmp_path / "runs/a/checkpoints/best.safetensors"
    if not registered:
        shutil.rmtree(tmp_path / "zoo")
    queue = make_queue(tmp_path, messages, name="b", train=f"{TINY} --teacher {path}")
    queue.run_slice(queue.next(), minutes=10)
    entry = find_entry("b", tmp_path / "zoo")
    assert read_meta(entry.weights)["experiment"]["training"]["teacher"] == teacher
    assert str(tmp_path) not in entry.card.read_text()


def test_a_pixel_agent_is_registered_with_an_encoder_that_the_zoo_lacks(tmp_path, messages):
    words = TINY.replace("one-cube", "one-cube --obs pixels --teacher oracle --views 1")
    queue = make_queue(tmp_path, messages, train=words.replace("480", "120"))
    queue.run_slice(queue.next(), minutes=10)
    zoo = tmp_path / "zoo"
    assert (zoo / "a-encoder.safetensors").is_file()
    assert list(registry(zoo)) == ["a"]
    assert find_entry("a", zoo).encoder is None
    _, agent = load_agent(find_entry("a", zoo).weights)
    assert agent.sensor is not None


def test_a_job_at_its_target_is_done(tmp_path, messages):
    queue = make_queue(tmp_path, messages, target=0.0)
    assert queue.next() is None


def test_the_queue_of_the_project_is_valid():
    from pathlib import Path

    jobs = read_queue(Path(__file__).parents[2] / "studies/queue.toml")
    assert len(jobs) >= 3


def test_invalid_queue_files_are_rejected_with_a_message(tmp_path):
    path = tmp_path / "queue.toml"
    for text, error, message in (
        ("x = 1", BadValueError, "not a queue"),
        ('[[training]]\nname = "a"', BadValueError, "not a queue"),
        (
            '[[training]]\nname = "a"\ntrain = "one-cub"\nminutes = 1\ntarget = 1',
            UnknownNameError,
            "one-cube",
        ),
        (
            '[[training]]\nname = "a"\ntrain = "one-cube --wrong 3"\nminutes = 1\ntarget = 1',
            BadValueError,
            "wrong flags",
        ),
        ('[[training]]\nname = "a"\nminutes = 1\ntarget = 1', BadValueError, "neither"),
    ):
        path.write_text(text)
        with pytest.raises(error, match=message):
            read_queue(path)
    with pytest.raises(UnknownNameError, match="zoo has no"):
        find_entry("missing", tmp_path)
    assert registry(tmp_path) == {}


def test_jobs_at_a_time_are_trained_and_a_failed_one_is_told(tmp_path, monkeypatch, capsys):
    from jostle.cli.queue import run

    monkeypatch.chdir(tmp_path)
    entry = '[[training]]\nname = "{}"\ntrain = "{}"\nminutes = 10\ntarget = 2.0\n'
    words = TINY.replace("480", "120")
    text = entry.format("good", words) + entry.format("bad", f"{words} --teacher no-such-agent")
    (tmp_path / "queue.toml").write_text(text)
    options = ["--queue", "queue.toml", "--runs", "runs", "--zoo", "zoo", "--episodes", "2"]
    assert run([*options, "--jobs", "2"]) == 1
    said = capsys.readouterr().out
    assert "good: finished" in said
    assert "bad: failed (jostle: There is no agent called 'no-such-agent'" in said
    assert "failed: bad" in said
    assert json.loads((tmp_path / "runs/queue.json").read_text())["good"]["done"] is True
    assert find_entry("good", tmp_path / "zoo").card.is_file()
