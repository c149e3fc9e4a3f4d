"""Pretraining: every encoder learns, stops, and resumes bit-for-bit, even after being killed."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from experiments import (  # noqa: E402
    assert_same_tensors,
    kill_during_run,
    metric_rows,
    quiet,
    stop_at,
)
from experiments import tiny as tiny_experiment  # noqa: E402
from jostle.core.checkpoint import CheckpointError, load  # noqa: E402
from jostle.core.errors import BadValueError, FramesError, UnknownNameError  # noqa: E402
from jostle.encoders.catalog import ENCODERS  # noqa: E402
from jostle.encoders.saving import load_encoder  # noqa: E402
from jostle.pretraining.components import build_components  # noqa: E402
from jostle.pretraining.config import preset, read_pretraining  # noqa: E402
from jostle.pretraining.start import resume_run, start_run  # noqa: E402
from jostle.pretraining.validation import validate  # noqa: E402
from jostle.runs.config import ConfigMismatchError  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.training.experiment import read_experiment  # noqa: E402
from synthetic_frames import tiny, write_frames  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_frames(tmp_path_factory.mktemp("frames"))


def assert_same_runs(first: Path, second: Path) -> None:
    """Two runs have the same metrics and ended with the same bits."""
    assert metric_rows(first) == metric_rows(second)
    for name in ("last", "best"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(first / file, second / file)


@pytest.mark.parametrize("kind", ["dlp", "vae", "slots"])
def test_every_encoder_learns_and_writes_a_run(kind, data, tmp_path):
    start_run(tiny(data, kind, steps=20, validate_every=10), tmp_path / "run", quiet).run()
    rows = metric_rows(tmp_path / "run")
    assert [row["step"] for row in rows] == list(range(2, 21, 2))
    losses = [row["val_loss"] for row in rows if "val_loss" in row]
    assert len(losses) == 2
    assert losses[-1] < losses[0]
    _, meta = load_encoder(tmp_path / "run/checkpoints/best.safetensors")
    assert meta["encoder"]["kind"] == kind
    assert meta["score"]["val_loss"] == min(losses)
    stage = meta["history"][0]
    assert stage["images"] == stage["steps"] * 4 * 2
    assert stage["collected"] == [{"task": "Squares"}]
    provenance = json.loads((tmp_path / "run/provenance.json").read_text())
    assert provenance["packages"]["torch"] == torch.__version__


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("dlp", {"ema_decay": 0.9, "max_grad_norm": 1.0}),
        ("dlp", {"channels_last": True}),
        ("vae", {}),
        ("slots", {}),
        ("slots", {"precision": "bf16", "ema_decay": 0.9}),
    ],
)
def test_a_stopped_run_resumes_bit_for_bit(kind, changes, data, tmp_path):
    config = tiny(data, kind, **changes)
    start_run(config, tmp_path / "whole", quiet).run()
    # Between two rows of metrics: the running means are saved, too
    stopped = start_run(config, tmp_path / "stopped", stop_at(7, StopRequested, "step"))
    with pytest.raises(StopRequested):
        stopped.run()
    resume_run(tmp_path / "stopped", quiet).run()
    assert_same_runs(tmp_path / "stopped", tmp_path / "whole")


def test_a_run_that_failed_resumes_bit_for_bit_from_its_last_checkpoint(data, tmp_path):
    start_run(tiny(data), tmp_path / "whole", quiet).run()
    failing = start_run(tiny(data), tmp_path / "failed", stop_at(8, KeyboardInterrupt, "step"))
    with pytest.raises(KeyboardInterrupt):
        failing.run()
    resume_run(tmp_path / "failed", quiet).run()
    assert_same_runs(tmp_path / "failed", tmp_path / "whole")


@pytest.mark.parametrize("kind", ["dlp", "vae", "slots"])
def test_bfloat16_gives_the_same_weights_nearly_the_same_gradients(kind, data):
    results = {}
    for precision in ("full", "bf16"):
        components = build_components(tiny(data, kind, precision=precision))
        components.init_from_data()
        frames = next(components.batches(0))
        with components.autocast():
            loss, _ = components.model.loss(frames, 0, components.noise)
        loss.backward()
        assert loss.dtype == torch.float32
        gradients = {name: weight.grad for name, weight in components.model.named_parameters()}
        results[precision] = (loss.item(), gradients)
    (full_loss, full), (bf16_loss, bf16) = results["full"], results["bf16"]
    assert bf16_loss == pytest.approx(full_loss, rel=0.02)
    assert bf16_loss != full_loss

    def learns(gradient) -> bool:
        return gradient is not None and bool(gradient.any())

    for name, gradient in full.items():
        assert learns(gradient) == learns(bf16[name]), name
    flat = [
        torch.cat([gradient.flatten() for gradient in gradients.values() if gradient is not None])
        for gradients in (full, bf16)
    ]
    assert torch.cosine_similarity(*flat, dim=0) > 0.95


def test_opacity_can_be_sampled_in_bfloat16(data):
    config = tiny(data, "dlp", precision="bf16")
    components = build_components(replace(config, model=replace(config.model, sample_beta=True)))
    with components.autocast():
        loss, _ = components.model.loss(next(components.batches(0)), 0, components.noise)
    assert loss.isfinite()


KILLABLE = {"kind": "slots", "steps": 100, "validate_every": 25, "ema_decay": 0.9, "save_every": 7}
"""A run that lasts long enough to be killed."""


def test_a_killed_run_resumes_bit_for_bit(data, tmp_path):
    script = tmp_path / "pretrain.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from synthetic_frames import tiny\n"
        "from jostle.pretraining.start import resume_run, start_run\n"
        "data, folder = sys.argv[2], Path(sys.argv[3])\n"
        f"config, quiet = tiny(data, **{KILLABLE}), lambda row: None\n"
        "started = (folder / 'checkpoints/last.safetensors').exists()\n"
        "(resume_run(folder, quiet) if started else start_run(config, folder, quiet)).run()\n"
    )
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, str(script), tests, str(data), str(tmp_path / "killed")]
    for delay in (0.1, 0.37):
        kill_during_run(command, tmp_path / "killed/metrics.jsonl", delay)
    resume_run(tmp_path / "killed", quiet).run()
    start_run(tiny(data, **KILLABLE), tmp_path / "whole", quiet).run()
    assert_same_runs(tmp_path / "killed", tmp_path / "whole")


def test_frames_collected_later_do_not_change_a_run(tmp_path):
    write_frames(tmp_path / "frames")
    start_run(tiny(tmp_path / "frames"), tmp_path / "whole", quiet).run()
    start_run(tiny(tmp_path / "frames"), tmp_path / "later", quiet)
    write_frames(tmp_path / "frames", task="More")
    trainer = resume_run(tmp_path / "later", quiet)
    assert len(trainer.components.frames) == 2 * trainer.config.scenes
    trainer.run()
    assert_same_runs(tmp_path / "later", tmp_path / "whole")


def test_other_frames_are_refused_and_moved_ones_are_accepted(data, tmp_path):
    start_run(tiny(data), tmp_path / "run", quiet)
    write_frames(tmp_path / "other", task="Other", episodes=30)
    with pytest.raises(CheckpointError, match="not those this run started with"):
        resume_run(tmp_path / "run", quiet, data=tmp_path / "other")
    (tmp_path / "moved").symlink_to(data)
    resume_run(tmp_path / "run", quiet, data=tmp_path / "moved")


@pytest.mark.parametrize("kind", ["dlp", "slots"])
def test_a_run_can_start_from_weights_alone(kind, data, tmp_path):
    start_run(tiny(data, kind, ema_decay=0.5), tmp_path / "first", quiet).run()
    best, meta = load(tmp_path / "first/checkpoints/best.safetensors")
    config = tiny(data, kind, seed=1, ema_decay=0.5)
    trainer = start_run(config, tmp_path / "second", quiet, tmp_path / "first")
    for model in (trainer.components.model, trainer.components.ema_model):
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, best[f"encoder.{name}"])
    trainer.run()
    _, after = load(tmp_path / "second/checkpoints/best.safetensors")
    assert after["history"][0] == meta["history"][0]
    assert [stage["seed"] for stage in after["history"]] == [0, 1]
    with pytest.raises(CheckpointError, match=f"holds a '{kind}'.*pretrain {kind} --from"):
        start_run(tiny(data, "vae"), tmp_path / "no", quiet, tmp_path / "first")
    assert not (tmp_path / "no").exists()


def test_the_averaged_weights_are_validated_and_kept(data, tmp_path):
    trainer = start_run(tiny(data, ema_decay=0.9, lr=1e-3), tmp_path / "run", quiet)
    trainer.run()
    components = trainer.components
    latest, averaged = components.model.state_dict(), components.ema_model.state_dict()
    assert any(not torch.equal(latest[name], averaged[name]) for name in latest)
    losses = validate(components.ema_model, components)
    assert losses == validate(components.ema_model, components), "the same every time"
    assert metric_rows(tmp_path / "run")[-1]["val_loss"] == losses["val_loss"]


def test_resuming_as_another_pretraining_names_the_fields(data, tmp_path):
    start_run(tiny(data), tmp_path / "run", quiet)
    resume_run(tmp_path / "run", quiet, tiny(data))
    other = tiny(data, lr=1.0, seed=3)
    other = replace(other, model=replace(other.model, num_particles=5))
    with pytest.raises(ConfigMismatchError, match="seed: 0 there, 3 here") as caught:
        resume_run(tmp_path / "run", quiet, other)
    assert "lr: 0.0005 there, 1.0 here" in str(caught.value)
    assert "model.num_particles: 6 there, 5 here" in str(caught.value)


def test_a_run_is_never_overwritten(data, tmp_path):
    start_run(tiny(data), tmp_path / "run", quiet)
    with pytest.raises(BadValueError, match="--resume"):
        start_run(tiny(data), tmp_path / "run", quiet)
    (tmp_path / "run/checkpoints/last.safetensors").unlink()
    with pytest.raises(CheckpointError, match="before its first checkpoint"):
        resume_run(tmp_path / "run", quiet)


def test_bad_folders_are_refused_before_anything_is_written(data, tmp_path):
    small = write_frames(tmp_path / "small", size=16)
    truncated = write_frames(tmp_path / "truncated")
    file = next(truncated.glob("*-frames.npy"))
    file.write_bytes(file.read_bytes()[:-1])
    changed = write_frames(tmp_path / "changed")
    file = next(changed.glob("*-frames.npy"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    (tmp_path / "empty").mkdir()
    for folder, changes, message in (
        (tmp_path / "nowhere", {}, "no such folder"),
        (tmp_path / "empty", {}, "manifest.json is missing"),
        (small, {}, "16 x 16 pixels, not 32 x 32"),
        (truncated, {}, "bytes instead of"),
        (changed, {}, "its hash is not the manifest's"),
        (data, {"scenes": 1000}, "holds 48 scenes, but 1000"),
        (data, {"batch_size": 47}, "less than one batch of 47"),
        (data, {"validation": 1e-6}, "no episode .* is kept for validation"),
        ("", {}, "Name a folder of frames"),
    ):
        with pytest.raises((FramesError, BadValueError), match=message):
            start_run(tiny(folder, **changes), tmp_path / "run", quiet, verify=True)
        assert not (tmp_path / "run").exists(), message


def test_configs_survive_json_and_unknown_fields_are_named():
    for kind in ENCODERS:
        for size in ENCODERS[kind].presets:
            config = preset(kind, size)
            assert read_pretraining(json.loads(json.dumps(config.to_dict()))) == config
    fields = preset("dlp", "lite").to_dict()
    with pytest.raises(UnknownNameError, match="Did you mean 'batch_size'"):
        read_pretraining({**fields, "batsh_size": 3})
    with pytest.raises(BadValueError, match="sizes are those of a 'dlp'"):
        replace(preset("dlp", "lite"), kind="vae")
    with pytest.raises(BadValueError, match="jostle train --resume"):
        read_pretraining(tiny_experiment().to_dict())
    with pytest.raises(BadValueError, match="jostle pretrain --resume"):
        read_experiment(fields)


def test_step_sizes_rise_then_fall_along_a_cosine():
    config = replace(
        preset("dlp", "lite"), lr=2.0, lr_final_fraction=0.1, lr_warmup_steps=10, steps=1000
    )
    assert config.lr_at(0) == pytest.approx(0.2, rel=1e-3)
    assert config.lr_at(10) == pytest.approx(2.0, rel=1e-3)
    assert config.lr_at(500) == pytest.approx(1.1)
    assert config.lr_at(1000) == pytest.approx(0.2)
    falling = [config.lr_at(step) for step in range(10, 1001)]
    assert falling == sorted(falling, reverse=True)
