"""Pretraining: every encoder learns, stops, and goes on bit by bit, even after being killed."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from synthetic_frames import tiny, write_frames  # noqa: E402

from jostle.core.checkpoint import load  # noqa: E402
from jostle.particles.saving import load_encoder  # noqa: E402
from jostle.pretraining.start import begin, go_on  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_frames(tmp_path_factory.mktemp("frames"))


def rows(folder: Path) -> list[dict]:
    """What a run told, but for the clock."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row in found:
        row.pop("seconds", None)
        row.pop("images_per_second", None)
    return found


def quiet(row) -> None:
    del row


def same(one: Path, two: Path) -> None:
    """Two runs told the same and ended with the same bits."""
    assert rows(one) == rows(two)
    for name in ("last", "best"):
        (a, _), (b, _) = (load(run / f"checkpoints/{name}.safetensors") for run in (one, two))
        assert a.keys() == b.keys()
        for key in a:
            assert torch.equal(a[key], b[key]), key


@pytest.mark.parametrize("kind", ["dlp", "vae", "slots"])
def test_every_encoder_learns_and_writes_a_run(kind, data, tmp_path):
    begin(tiny(data, kind, steps=30, validate_every=10), tmp_path / "run", quiet).run()
    found = rows(tmp_path / "run")
    assert [row["step"] for row in found] == list(range(2, 31, 2))
    values = [row["val_loss"] for row in found if "val_loss" in row]
    assert len(values) == 3
    assert values[-1] < values[0]
    _, meta = load_encoder(tmp_path / "run/checkpoints/best.safetensors")
    assert meta["encoder"]["kind"] == kind
    assert meta["score"]["val_loss"] == min(values)
    assert meta["history"][0]["images"] == meta["history"][0]["steps"] * 4 * 2
    assert meta["history"][0]["collected"] == [{"task": "Squares"}]
    told = json.loads((tmp_path / "run/provenance.json").read_text())
    assert told["packages"]["torch"] == torch.__version__


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("dlp", {"ema": 0.9, "clip": 1.0}),
        ("dlp", {"channels_last": True}),
        ("vae", {}),
        ("slots", {}),
    ],
)
def test_a_stopped_run_goes_on_bit_by_bit(kind, changes, data, tmp_path):
    plan = tiny(data, kind, **changes)
    begin(plan, tmp_path / "whole", quiet).run()

    def stop(row) -> None:
        if row["step"] == 7:
            raise KeyboardInterrupt

    trainer = begin(plan, tmp_path / "parts", stop)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    trainer.save()  # between two rows: what was summed up so far goes along
    go_on(tmp_path / "parts", quiet).run()
    same(tmp_path / "parts", tmp_path / "whole")


def test_a_killed_run_goes_on_bit_by_bit(data, tmp_path):
    script = tmp_path / "pretrain.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from synthetic_frames import tiny\n"
        "from jostle.pretraining.start import begin, go_on\n"
        "data, folder = sys.argv[2], Path(sys.argv[3])\n"
        "plan, quiet = tiny(data, steps=150, ema=0.9, save_every=7), lambda row: None\n"
        "there = (folder / 'checkpoints/last.safetensors').exists()\n"
        "(go_on(folder, quiet) if there else begin(plan, folder, quiet)).run()\n"
    )
    here = str(Path(__file__).parent)
    command = [sys.executable, str(script), here, str(data), str(tmp_path / "killed")]
    metrics = tmp_path / "killed/metrics.jsonl"
    for patience in (0.1, 0.37):
        seen = metrics.stat().st_mtime_ns if metrics.exists() else 0
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 60
        while not metrics.exists() or metrics.stat().st_mtime_ns == seen:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(patience)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True)
    begin(tiny(data, steps=150, ema=0.9, save_every=7), tmp_path / "whole", quiet).run()
    same(tmp_path / "killed", tmp_path / "whole")
