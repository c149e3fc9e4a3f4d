"""Run folders: one process trains a run, and folders that cannot be read say why."""

import json
import os
import signal
import subprocess
import sys

import pytest

from jostle.core.errors import BadValueError
from jostle.runs.run_dir import RunDir

HOLD = """
import sys, time
from pathlib import Path
from jostle.runs.run_dir import RunDir
with RunDir(Path(sys.argv[1])).lock():
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def run(tmp_path) -> RunDir:
    """A new run folder."""
    folder = RunDir(tmp_path / "run")
    folder.create({"name": "toy", "task": "OneCube"})
    return folder


@pytest.fixture
def holder(run):
    """Another process that holds the lock of the run."""
    command = [sys.executable, "-c", HOLD, str(run.path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_run_that_another_process_trains_is_refused_and_its_pid_named(run, holder):
    message = rf"in use by another process \(pid {holder.pid}\)"
    with pytest.raises(BadValueError, match=message), run.lock():
        pytest.fail("the lock is held")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_of_a_killed_process_is_released(number, run, holder):
    holder.send_signal(number)
    holder.wait()
    with run.lock():
        assert (run.path / ".lock").read_text() == str(os.getpid())


def test_a_second_training_in_the_same_process_is_refused(run):
    with run.lock():
        with pytest.raises(BadValueError, match=rf"pid {os.getpid()}\)") as caught, run.lock():
            pytest.fail("the lock is held")
        assert str(run.path) in str(caught.value)
    with run.lock():  # released
        pass


def test_the_lock_is_released_after_an_error(run):
    with pytest.raises(KeyError), run.lock():
        raise KeyError
    with run.lock():
        pass


def test_a_run_survives_writing_and_reading(run):
    assert run.read_experiment() == {"name": "toy", "task": "OneCube"}
    assert run.read_history() == []
    run.write_history([{"method": "td3"}])
    assert run.read_history() == [{"method": "td3"}]
    assert run.rows() == []
    for number in range(3):
        run.log({"step": number})
    run.trim(1, "step")
    assert run.rows() == [{"step": 0}, {"step": 1}]


def test_a_run_of_the_old_format_is_refused_with_the_command_that_helps(run):
    provenance = run.read_provenance()
    del provenance["format"]
    (run.path / "provenance.json").write_text(json.dumps(provenance))
    with pytest.raises(BadValueError, match=r"old format.*scripts/upgrade_format\.py") as caught:
        run.read_experiment()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b'{"name": "to', b"", b"[1, 2]", b"\xff\xfe\x00\x81"])
@pytest.mark.parametrize("file", ["experiment.json", "provenance.json"])
def test_a_damaged_file_is_named_in_one_sentence(file, content, run):
    (run.path / file).write_bytes(content)
    with pytest.raises(BadValueError, match=f"{file} is damaged") as caught:
        run.read_experiment()
    assert "\n" not in str(caught.value)


def test_a_missing_run_and_an_existing_one_are_both_named(run, tmp_path):
    with pytest.raises(BadValueError, match=r"no run in .*experiment.json is missing"):
        RunDir(tmp_path / "nowhere").read_experiment()
    with pytest.raises(BadValueError, match="--resume"):
        run.create({"name": "other"})
    assert run.read_experiment()["name"] == "toy"


def test_a_line_of_metrics_cut_off_by_a_kill_is_left_out(tmp_path):
    run = RunDir(tmp_path)
    run.log({"iteration": 1})
    with run.metrics.open("a") as lines:
        lines.write('{"iteration": 2, "succ')
    assert run.rows() == [{"iteration": 1}]
    run.trim(1, "iteration")
    run.log({"iteration": 2})
    assert run.rows() == [{"iteration": 1}, {"iteration": 2}]
