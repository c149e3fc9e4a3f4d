"""The training monitor: what goes wrong is reported in words, once, and spoils nothing."""

import pytest

torch = pytest.importorskip("torch")

from jostle.core.errors import NotFiniteError  # noqa: E402
from jostle.encoders.dlp_config import LITE_DLP, PAPER_DLP  # noqa: E402
from jostle.encoders.vae_config import LITE_VAE  # noqa: E402
from jostle.pretraining.monitor import TrainingMonitor, check_gradient  # noqa: E402
from jostle.pretraining.start import start_run  # noqa: E402
from synthetic_frames import tiny, write_frames  # noqa: E402

HEALTHY = {
    "active_particles": 8.0, "box_size": 0.12, "opacity_concentration1": 0.5,
    "opacity_concentration0": 0.5,
}  # fmt: skip


def reported(config, row, steps) -> list[tuple[int, str]]:
    """When something was reported, and what."""
    monitor = TrainingMonitor(config)
    messages = [(step, monitor.check({"step": step, **row})) for step in steps]
    return [(step, text) for step, texts in messages for text in texts]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"active_particles": 0.01}, "hardly any particle is on"),
        ({"active_particles": 23.5}, "nearly all of the 24 particles are on"),
        ({"opacity_concentration0": 5e4}, "stuck on or off"),
        ({"box_size": 0.4}, "particles merge"),
    ],
)
def test_what_lasts_is_reported_once_and_what_passes_is_not(change, message):
    assert reported(LITE_DLP, HEALTHY, range(0, 5000, 20)) == []
    (step, text), *more = reported(LITE_DLP, HEALTHY | change, range(0, 5000, 20))
    assert message in text
    assert 300 < step < 1000
    assert more == []
    assert reported(LITE_DLP, HEALTHY | change, range(0, 700, 20)) == [], "it may still pass"
    monitor = TrainingMonitor(LITE_DLP)
    for step in range(0, 5000, 20):
        row = HEALTHY | change if step % 400 < 200 else HEALTHY
        assert monitor.check({"step": step, **row}) == []


def test_nothing_is_reported_in_the_warm_up_or_of_other_encoders():
    empty = HEALTHY | {"active_particles": 0.0}
    assert reported(PAPER_DLP, empty, range(0, PAPER_DLP.warmup_steps, 20)) == []
    assert reported(LITE_VAE, {"loss": 1.0}, range(0, 5000, 20)) == []
    assert reported(LITE_DLP, {"loss": 1.0}, range(0, 5000, 20)) == []


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_good_weights(tmp_path):
    data, saved = write_frames(tmp_path / "frames"), {}
    folder = tmp_path / "run/checkpoints"

    def spoil(row) -> None:
        if row["step"] == 7:
            saved.update({path.name: path.read_bytes() for path in folder.iterdir()})
            next(trainer.components.model.parameters()).data.fill_(torch.nan)

    trainer = start_run(tiny(data), tmp_path / "run", spoil)
    with pytest.raises(NotFiniteError, match=r"(?s)nan.*at step 7.*Kept as they were.*metrics"):
        trainer.run()
    assert set(saved) == {"last.safetensors", "best.safetensors"}
    assert saved == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_gradient_that_is_not_finite_stops_the_run():
    with pytest.raises(NotFiniteError, match="gradient's norm is inf"):
        check_gradient(torch.tensor(torch.inf), 3, "Nothing was saved yet.")


def test_warnings_are_reported_and_written_beside_the_metrics(tmp_path):
    data, rows = write_frames(tmp_path / "frames"), []
    trainer = start_run(tiny(data), tmp_path / "run", rows.append)
    trainer._monitor.check = lambda row: ["look here"] if row["step"] == 4 else []
    trainer.run()
    assert [row["step"] for row in rows if "warning" in row] == [4]
    assert '{"step": 4, "warning": "look here"}' in (tmp_path / "run/metrics.jsonl").read_text()


def test_a_resumed_monitor_does_not_report_again():
    ill = HEALTHY | {"box_size": 0.4}
    monitor, resumed = TrainingMonitor(LITE_DLP), TrainingMonitor(LITE_DLP)
    messages = [monitor.check({"step": step, **ill}) for step in range(0, 2000, 20)]
    assert sum(map(len, messages)) == 1
    resumed.load_state_dict(*monitor.state_dict())
    assert not any(resumed.check({"step": step, **ill}) for step in range(2000, 5000, 20))
