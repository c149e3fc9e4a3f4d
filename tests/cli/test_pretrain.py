"""`jostle pretrain`, as a user types it."""

import json
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")

from jostle.cli import pretrain
from jostle.core.errors import JostleError
from synthetic_frames import write_frames

TINY = (
    "slots", "--data", "frames", "--image", "32", "--shrink", "2", "--slots", "3", "--channels",
    "4", "--width", "8", "--batch", "4", "--validation", "0.2", "--validate-every", "5",
    "--log-every", "2", "--threads", "1",
)  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with frames; signals are heard as before when the test ends."""
    write_frames(tmp_path / "frames")
    monkeypatch.chdir(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield tmp_path
    for number, heard in before.items():
        signal.signal(number, heard)


def test_a_pretraining_stops_between_steps_when_asked_and_goes_on(here, capsys):
    command = [sys.executable, "-c", "from jostle.cli.main import main; main()", "pretrain"]
    process = subprocess.Popen(
        [*command, *TINY], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    folder = here / "runs/slots-lite-0"
    deadline = time.monotonic() + 60
    while not (folder / "metrics.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0
    assert "go on with: jostle pretrain --resume runs/slots-lite-0" in told
    pretrain.run(["--resume", str(folder), "--minutes", "0.01"])
    assert "stopped and saved" in capsys.readouterr().out
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steps = [row["step"] for row in rows if "loss" in row]
    assert steps == list(range(2, steps[-1] + 1, 2))


def test_a_pretraining_that_is_over_says_where_its_best_is(here, capsys):
    pretrain.run([*TINY, "--steps", "4", "--name", "eyes", "--seed", "3"])
    told = capsys.readouterr()
    assert "done: runs/eyes-3 (best validation loss" in told.out
    assert "img/s=" in told.err
    pretrain.run([*TINY, "--steps", "2", "--from", "runs/eyes-3", "--out", "later"])
    history = json.loads((here / "later/slots-lite-0/history.json").read_text())
    assert [chapter["seed"] for chapter in history] == [3]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Name an encoder first. Known: dlp, vae, slots"),
        (["dpl"], "Did you mean 'dlp'"),
        (["dlp", "--preset", "light"], "Did you mean 'lite'"),
        (["dlp", "--preset=papr"], "Did you mean 'paper'"),
        (["dlp"], "Name a folder of frames"),
        (["dlp", "--data", "nowhere"], "no such folder"),
        (["dlp", "--data", "frames"], "32 x 32 pixels, not 128 x 128"),
        ([*TINY, "--from", "one-cube-state"], "holds an agent"),
        ([*TINY, "--from", "nobody"], "no encoder called 'nobody'"),
        (["--resume", "nowhere"], "There is no run in nowhere"),
    ],
)
def test_misuse_of_pretraining_is_answered_in_words(words, says, here):
    with pytest.raises(JostleError, match=says):
        pretrain.run(words)
    assert not (here / "runs").exists()


def test_resuming_with_other_words_names_what_differs(here):
    pretrain.run([*TINY, "--steps", "2"])
    with pytest.raises(JostleError, match=r"lr: 0.001 there, 0.1 here"):
        pretrain.run([*TINY, "--steps", "2", "--lr", "0.1", "--resume", "runs/slots-lite-0"])
    with pytest.raises(JostleError, match="There is a run in runs/slots-lite-0 already"):
        pretrain.run([*TINY, "--steps", "2"])
