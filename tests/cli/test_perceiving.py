"""What `evaluate --through` refuses before it takes any time."""

import pytest

pytest.importorskip("torch")

from jostle.cli.evaluate import run
from jostle.core.errors import BadValueError, FramesError

STATE = ["one-cube-state", "--task", "OneCube", "--through", "dlp-6cubes"]


def test_frames_to_calibrate_with_must_be_named():
    with pytest.raises(BadValueError, match="--calibrate"):
        run(STATE)


def test_frames_to_calibrate_with_must_be_there(tmp_path):
    with pytest.raises(FramesError, match="no such folder"):
        run([*STATE, "--calibrate", str(tmp_path / "nowhere")])


def test_agents_with_eyes_of_their_own_are_refused(tmp_path):
    with pytest.raises(BadValueError, match="own eyes"):
        run(["one-cube-pixels", *STATE[1:], "--calibrate", str(tmp_path)])


def test_one_task_must_be_named(tmp_path):
    with pytest.raises(BadValueError, match="--task"):
        run(["oracle", "--through", "dlp-6cubes", "--calibrate", str(tmp_path)])
