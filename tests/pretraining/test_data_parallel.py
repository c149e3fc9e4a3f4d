"""Two processes that share each batch learn what one process learns from it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from parallel_run import pretrain  # noqa: E402

from jostle.core.checkpoint import load  # noqa: E402
from jostle.encoders.catalog import ENCODERS  # noqa: E402
from jostle.pretraining.data_parallel import Ranks, reports  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from synthetic_frames import write_frames  # noqa: E402

SCRIPT = Path(__file__).parent / "parallel_run.py"
TOLERANCE = 1e-3
"""Relative difference of the losses of eight steps: sums in another order, then through Adam."""


def torchrun(frames, out, stop=0):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*launcher, "--nproc-per-node", "2", SCRIPT, frames, out, stop]
    answer = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-3000:]


def losses(folder):
    return np.array([row["loss"] for row in RunDir(folder).rows() if "loss" in row])


def test_two_processes_have_the_losses_of_one(tmp_path):
    frames = write_frames(tmp_path / "frames")
    for kind in ENCODERS:
        pretrain(frames, tmp_path / "one", kind)
    torchrun(frames, tmp_path / "two")
    for kind in ENCODERS:
        one, two = losses(tmp_path / "one" / kind), losses(tmp_path / "two" / kind)
        assert len(one) == len(two) == 8
        np.testing.assert_allclose(two, one, rtol=TOLERANCE)


@pytest.mark.slow  # three starts of two processes
def test_two_processes_resume_bit_for_bit(tmp_path):
    frames = write_frames(tmp_path / "frames")
    torchrun(frames, tmp_path / "two")
    torchrun(frames, tmp_path / "halves", stop=4)
    torchrun(frames, tmp_path / "halves")
    for kind in ENCODERS:
        whole = load(RunDir(tmp_path / "two" / kind).last)[0]
        halves = load(RunDir(tmp_path / "halves" / kind).last)[0]
        assert all(torch.equal(whole[name], halves[name]) for name in whole)


def test_processes_read_disjoint_parts_of_a_batch_and_together_all_of_it():
    scenes = np.random.default_rng(0).permutation(100)[:12]
    parts = [Ranks(rank, 3).rows(scenes) for rank in range(3)]
    assert np.concatenate(parts).tolist() == scenes.tolist()
    assert Ranks().rows(scenes).tolist() == scenes.tolist()


def test_the_first_process_alone_prints(monkeypatch):
    assert reports()
    monkeypatch.setenv("RANK", "0")
    assert reports()
    monkeypatch.setenv("RANK", "1")
    assert not reports()
