"""Pretraining: every encoder learns, stops, and goes on bit by bit, even after being killed."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from jostle.core.checkpoint import CheckpointError, load  # noqa: E402
from jostle.core.errors import BadValueError, FramesError, UnknownNameError  # noqa: E402
from jostle.particles.catalog import KINDS  # noqa: E402
from jostle.particles.saving import load_encoder  # noqa: E402
from jostle.presets.catalog import PRESETS  # noqa: E402
from jostle.pretraining.bench import open_bench  # noqa: E402
from jostle.pretraining.config import read_pretraining, recipe  # noqa: E402
from jostle.pretraining.start import AnotherPretrainingError, begin, go_on  # noqa: E402
from jostle.pretraining.validation import validate  # noqa: E402
from jostle.training.experiment import read_experiment  # noqa: E402
from synthetic_frames import tiny, write_frames  # noqa: E402


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
    begin(tiny(data, kind, steps=20, validate_every=10), tmp_path / "run", quiet).run()
    found = rows(tmp_path / "run")
    assert [row["step"] for row in found] == list(range(2, 21, 2))
    values = [row["val_loss"] for row in found if "val_loss" in row]
    assert len(values) == 2
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
        ("slots", {"precision": "bf16", "ema": 0.9}),
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


@pytest.mark.parametrize("kind", ["dlp", "vae", "slots"])
def test_coarse_numbers_teach_the_same_weights_nearly_the_same(kind, data):
    found = {}
    for precision in ("full", "bf16"):
        bench = open_bench(tiny(data, kind, precision=precision))
        bench.first_look()
        frames = next(bench.batches(0))
        with bench.rounding():
            total, _ = bench.model.loss(frames, 0, bench.noise)
        total.backward()
        assert total.dtype == torch.float32
        taught = {name: one.grad for name, one in bench.model.named_parameters()}
        found[precision] = (total.item(), taught)
    (whole, by_whole), (coarse, by_coarse) = found["full"], found["bf16"]
    assert coarse == pytest.approx(whole, rel=0.02)
    assert coarse != whole
    for name, gradient in by_whole.items():
        learns = gradient is not None and bool(gradient.any())
        assert learns == (by_coarse[name] is not None and bool(by_coarse[name].any())), name
    flat = [
        torch.cat([one.flatten() for one in g.values() if one is not None])
        for g in (by_whole, by_coarse)
    ]
    assert torch.cosine_similarity(*flat, dim=0) > 0.95


def test_transparency_can_be_sampled_among_coarse_numbers(data):
    plan = tiny(data, "dlp", precision="bf16")
    bench = open_bench(replace(plan, model=replace(plan.model, sample_beta=True)))
    with bench.rounding():
        total, _ = bench.model.loss(next(bench.batches(0)), 0, bench.noise)
    assert total.isfinite()


KILLABLE = {"kind": "slots", "steps": 100, "validate_every": 25, "ema": 0.9, "save_every": 7}
"""A run that lasts long enough to be killed."""


def test_a_killed_run_goes_on_bit_by_bit(data, tmp_path):
    script = tmp_path / "pretrain.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from synthetic_frames import tiny\n"
        "from jostle.pretraining.start import begin, go_on\n"
        "data, folder = sys.argv[2], Path(sys.argv[3])\n"
        f"plan, quiet = tiny(data, **{KILLABLE}), lambda row: None\n"
        "there = (folder / 'checkpoints/last.safetensors').exists()\n"
        "(go_on(folder, quiet) if there else begin(plan, folder, quiet)).run()\n"
    )
    here = str(Path(__file__).parents[1])
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
    go_on(tmp_path / "killed", quiet).run()
    begin(tiny(data, **KILLABLE), tmp_path / "whole", quiet).run()
    same(tmp_path / "killed", tmp_path / "whole")


def test_frames_that_come_later_do_not_change_a_run(data, tmp_path):
    write_frames(tmp_path / "frames")
    begin(tiny(tmp_path / "frames"), tmp_path / "whole", quiet).run()
    begin(tiny(tmp_path / "frames"), tmp_path / "later", quiet)
    write_frames(tmp_path / "frames", task="More")
    trainer = go_on(tmp_path / "later", quiet)
    assert len(trainer.bench.frames) == 2 * trainer.plan.scenes
    trainer.run()
    same(tmp_path / "later", tmp_path / "whole")


def test_other_frames_are_refused_and_moved_ones_are_welcome(data, tmp_path):
    begin(tiny(data), tmp_path / "run", quiet)
    write_frames(tmp_path / "other", task="Other", episodes=30)
    with pytest.raises(CheckpointError, match="not those this run began with"):
        go_on(tmp_path / "run", quiet, data=tmp_path / "other")
    (tmp_path / "moved").symlink_to(data)
    go_on(tmp_path / "run", quiet, data=tmp_path / "moved")


@pytest.mark.parametrize("kind", ["dlp", "slots"])
def test_a_run_can_start_from_weights_alone(kind, data, tmp_path):
    begin(tiny(data, kind, ema=0.5), tmp_path / "one", quiet).run()
    best, meta = load(tmp_path / "one/checkpoints/best.safetensors")
    trainer = begin(tiny(data, kind, seed=1, ema=0.5), tmp_path / "two", quiet, tmp_path / "one")
    for model in (trainer.bench.model, trainer.bench.slow):
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, best[f"encoder.{name}"])
    trainer.run()
    _, after = load(tmp_path / "two/checkpoints/best.safetensors")
    assert after["history"][0] == meta["history"][0]
    assert [chapter["seed"] for chapter in after["history"]] == [0, 1]
    with pytest.raises(CheckpointError, match=f"holds a '{kind}'.*pretrain {kind} --from"):
        begin(tiny(data, "vae"), tmp_path / "no", quiet, tmp_path / "one")
    assert not (tmp_path / "no").exists()


def test_what_is_kept_are_the_averaged_weights(data, tmp_path):
    trainer = begin(tiny(data, ema=0.9, lr=1e-3), tmp_path / "run", quiet)
    trainer.run()
    fast, slow = trainer.bench.model.state_dict(), trainer.bench.slow.state_dict()
    assert any(not torch.equal(fast[name], slow[name]) for name in fast)
    found = validate(trainer.bench.slow, trainer.bench)
    assert found == validate(trainer.bench.slow, trainer.bench), "the same answer every time"
    assert rows(tmp_path / "run")[-1]["val_loss"] == found["val_loss"]


def test_resuming_as_something_else_names_the_fields(data, tmp_path):
    begin(tiny(data), tmp_path / "run", quiet)
    go_on(tmp_path / "run", quiet, tiny(data))
    other = tiny(data, lr=1.0, seed=3)
    other = replace(other, model=replace(other.model, particles=5))
    with pytest.raises(AnotherPretrainingError, match="seed: 0 there, 3 here") as caught:
        go_on(tmp_path / "run", quiet, other)
    assert "lr: 0.0005 there, 1.0 here" in str(caught.value)
    assert "model.particles: 6 there, 5 here" in str(caught.value)


def test_a_run_is_never_written_over(data, tmp_path):
    begin(tiny(data), tmp_path / "run", quiet)
    with pytest.raises(BadValueError, match="--resume"):
        begin(tiny(data), tmp_path / "run", quiet)
    (tmp_path / "run/checkpoints/last.safetensors").unlink()
    with pytest.raises(CheckpointError, match="before its first checkpoint"):
        go_on(tmp_path / "run", quiet)


def test_bad_folders_are_refused_before_anything_is_written(data, tmp_path):
    small = write_frames(tmp_path / "small", size=16)
    torn = write_frames(tmp_path / "torn")
    half = next(torn.glob("*-frames.npy"))
    half.write_bytes(half.read_bytes()[:-1])
    bent = write_frames(tmp_path / "bent")
    frames = next(bent.glob("*-frames.npy"))
    frames.write_bytes(frames.read_bytes()[:-1] + b"x")
    (tmp_path / "empty").mkdir()
    for folder, changes, says in (
        (tmp_path / "nowhere", {}, "no such folder"),
        (tmp_path / "empty", {}, "manifest.json is missing"),
        (small, {}, "16 x 16 pixels, not 32 x 32"),
        (torn, {}, "bytes instead of"),
        (bent, {}, "its hash is not the manifest's"),
        (data, {"scenes": 1000}, "holds 48 scenes, but 1000"),
        (data, {"batch": 47}, "less than one batch of 47"),
        (data, {"validation": 1e-6}, "no episode .* is kept for validation"),
        ("", {}, "Name a folder of frames"),
    ):
        with pytest.raises((FramesError, BadValueError), match=says):
            begin(tiny(folder, **changes), tmp_path / "run", quiet, verify=True)
        assert not (tmp_path / "run").exists(), says


def test_plans_survive_json_and_name_what_they_do_not_know():
    for kind in KINDS:
        for preset in KINDS[kind].presets:
            plan = recipe(kind, preset)
            assert read_pretraining(json.loads(json.dumps(plan.to_dict()))) == plan
    fields = recipe("dlp", "lite").to_dict()
    with pytest.raises(UnknownNameError, match="Did you mean 'batch'"):
        read_pretraining({**fields, "batsh": 3})
    with pytest.raises(BadValueError, match="sizes are those of a 'dlp'"):
        replace(recipe("dlp", "lite"), kind="vae")
    with pytest.raises(BadValueError, match="jostle train --resume"):
        read_pretraining(PRESETS["one-cube-state"].to_dict())
    with pytest.raises(BadValueError, match="jostle pretrain --resume"):
        read_experiment(fields)


def test_step_sizes_rise_then_fall_along_a_cosine():
    plan = replace(recipe("dlp", "lite"), lr=2.0, lr_floor=0.1, lr_warmup=10, steps=1000)
    assert plan.pace(0) == pytest.approx(0.2, rel=1e-3)
    assert plan.pace(10) == pytest.approx(2.0, rel=1e-3)
    assert plan.pace(500) == pytest.approx(1.1)
    assert plan.pace(1000) == pytest.approx(0.2)
    paces = [plan.pace(step) for step in range(10, 1001)]
    assert paces == sorted(paces, reverse=True)
