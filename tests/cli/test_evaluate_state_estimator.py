"""What `evaluate --state-estimator` rejects before any evaluation."""

import pytest

pytest.importorskip("torch")

from jostle.cli.evaluate import run
from jostle.core.errors import BadValueError, FramesError

STATE = ["one-cube-state", "--task", "OneCube", "--state-estimator", "dlp-6cubes"]


def test_frames_to_fit_on_must_be_named():
    with pytest.raises(BadValueError, match="--estimator-frames"):
        run(STATE)


def test_frames_to_fit_on_must_exist(tmp_path):
    with pytest.raises(FramesError, match="no such folder"):
        run([*STATE, "--estimator-frames", str(tmp_path / "nowhere")])


def test_pixel_agents_are_rejected(tmp_path):
    with pytest.raises(BadValueError, match="is a pixel agent"):
        run(["one-cube-pixels", *STATE[1:], "--estimator-frames", str(tmp_path)])


def test_one_task_must_be_named(tmp_path):
    with pytest.raises(BadValueError, match="--task"):
        run(["oracle", "--state-estimator", "dlp-6cubes", "--estimator-frames", str(tmp_path)])
