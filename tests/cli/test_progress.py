"""First contact, point 13: exit codes of interrupted trainings, bars, lines in log files."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

pytest.importorskip("torch")

COMMAND = [sys.executable, "-c", "from jostle.cli.main import main; main()"]
TINY = (
    "train", "one-cube", "--method", "td3", "--num-envs", "2", "--env-steps", "200",
    "--horizon", "15", "--random-episodes", "2", "--batch-size", "8", "--utd-ratio", "0.04",
    "--eval-every", "3", "--eval-episodes", "2", "--threads", "1",
)  # fmt: skip
"""Seven iterations of 30 steps with evaluations after 3, 6 and 7; 210 steps in all."""


def jostle(*words, cwd):
    return subprocess.run([*COMMAND, *words], cwd=cwd, capture_output=True, text=True, check=False)


def jostle_on_a_terminal(*words, cwd):
    """Run the command with a terminal as its output; returns what it shows."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))  # rows, columns
    process = subprocess.Popen([*COMMAND, *words], cwd=cwd, stdout=child, stderr=child)
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # Linux: the other side is closed
            part = b""
        if not part:
            break
        shown += part
    os.close(parent)
    assert process.wait() == 0, shown.decode()
    return shown.decode()


def test_point_13_log_files_get_one_line_per_evaluation_and_no_bars(tmp_path):
    answer = jostle(*TINY, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "\r" not in answer.stdout + answer.stderr
    assert "%|" not in answer.stderr
    lines = [line for line in answer.stdout.splitlines() if line.startswith("env steps")]
    assert [line.split(",")[0] for line in lines] == [
        "env steps 90/200 (45 %)",
        "env steps 180/200 (90 %)",
        "env steps 210/200 (100 %)",
    ]  # fmt: skip
    assert all(re.search(r", \d+\.\d min: best \d\S*, success \d", line) for line in lines)
    assert "done: runs/one-cube-state-td3-0 (best during training: " in answer.stdout


def test_point_13_quiet_leaves_the_result_alone(tmp_path):
    answer = jostle(*TINY, "--quiet", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    assert [line.split(":")[0] for line in answer.stdout.splitlines()] == ["time", "done"]


def test_point_13_the_bar_keeps_its_total_and_shows_no_best_before_an_evaluation(tmp_path):
    shown = jostle_on_a_terminal(*TINY, cwd=tmp_path)
    assert "best=-1" not in shown
    assert "best=" in shown
    assert "200/200" in shown
    assert "100%|" in shown
    assert "210step" not in shown  # what a bar says that has lost its total
    assert len(re.findall(r"env steps \d+/200 ", shown)) == 3


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_point_13_an_interrupted_training_saves_and_says_so_by_its_exit_code(
    number, code, tmp_path
):
    words = ["100000000" if word == "200" else word for word in TINY]
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    folder = tmp_path / "runs/one-cube-state-td3-0"
    deadline = time.monotonic() + 120
    while not (folder / "metrics.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    output = process.communicate(timeout=120)[0].decode()
    assert process.returncode == code, output
    assert (folder / "checkpoints/last.safetensors").is_file()
    assert "resume with: jostle train --resume runs/one-cube-state-td3-0" in output
    resumed = jostle("train", "--resume", folder, "--minutes", "0.0001", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr  # its time was over as planned


def test_point_13_evaluations_show_no_bars_in_log_files(tmp_path):
    answer = jostle("evaluate", "random", "--task", "OneCube", "--episodes", "2", cwd=tmp_path)
    assert answer.returncode == 0
    assert answer.stderr == ""
