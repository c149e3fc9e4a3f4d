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
    "slots", "--data", "frames", "--image-size", "32", "--downscale", "2", "--num-slots", "3",
    "--channels", "4", "--slot-dim", "8", "--batch-size", "4", "--validation", "0.2",
    "--validate-every", "5", "--log-every", "2", "--threads", "1",
)  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with frames; signal handlers are restored after the test."""
    write_frames(tmp_path / "frames")
    monkeypatch.chdir(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield tmp_path
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_pretraining_stops_between_steps_on_a_signal_and_resumes(here, capsys):
    command = [sys.executable, "-c", "from jostle.cli.main import main; main()", "pretrain"]
    process = subprocess.Popen(
        [*command, *TINY], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    folder = here / "runs/slots-lite-0"
    deadline = time.monotonic() + 60
    while not (folder / "metrics.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 128 + signal.SIGTERM
    assert "resume with: jostle pretrain --resume runs/slots-lite-0" in output
    pretrain.run(["--resume", str(folder), "--minutes", "0.01"])
    assert "stopped and saved" in capsys.readouterr().out
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steps = [row["step"] for row in rows if "loss" in row]
    assert steps == list(range(2, steps[-1] + 1, 2))


def test_a_finished_pretraining_prints_its_run_directory(here, capsys):
    pretrain.run([*TINY, "--steps", "4", "--name", "encoder", "--seed", "3"])
    output = capsys.readouterr()
    assert "done: runs/encoder-3 (best during training" in output.out
    assert "img/s " in output.out
    pretrain.run([*TINY, "--steps", "2", "--from", "runs/encoder-3", "--out", "later"])
    history = json.loads((here / "later/slots-lite-0/history.json").read_text())
    assert [stage["seed"] for stage in history] == [3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Name an encoder first. Known: dlp, vae, slots"),
        (["dpl"], "Did you mean 'dlp'"),
        (["dlp", "--preset", "light"], "Did you mean 'lite'"),
        (["dlp", "--preset=papr"], "Did you mean 'paper'"),
        (["dlp"], "Name a folder of frames"),
        (["dlp", "--data", "nowhere"], "no such folder"),
        (["dlp", "--data", "frames"], "32 x 32 pixels, not 128 x 128"),
        ([*TINY, "--from", "one-cube-state-td3"], "holds an agent"),
        ([*TINY, "--from", "missing"], "no encoder called 'missing'"),
        (["--resume", "nowhere"], "There is no run in nowhere"),
    ],
)
def test_wrong_usage_is_answered_with_a_message(words, message, here):
    with pytest.raises(JostleError, match=message):
        pretrain.run(words)
    assert not (here / "runs").exists()


def test_resuming_with_other_options_names_the_differences(here):
    pretrain.run([*TINY, "--steps", "2"])
    with pytest.raises(JostleError, match=r"lr: 0.001 there, 0.1 here"):
        pretrain.run([*TINY, "--steps", "2", "--lr", "0.1", "--resume", "runs/slots-lite-0"])
    with pytest.raises(JostleError, match="There is a run in runs/slots-lite-0 already"):
        pretrain.run([*TINY, "--steps", "2"])
