"""Alarms: what goes wrong is told in words, once, and spoils nothing."""

import pytest

torch = pytest.importorskip("torch")

from jostle.core.errors import NotFiniteError  # noqa: E402
from jostle.particles.config import LITE_DLP, PAPER_DLP  # noqa: E402
from jostle.particles.vae import LITE_VAE  # noqa: E402
from jostle.pretraining.alarms import Alarms, check_gradient  # noqa: E402
from jostle.pretraining.start import begin  # noqa: E402
from synthetic_frames import tiny, write_frames  # noqa: E402

WELL = {"on": 8.0, "box": 0.12, "beta_on": 0.5, "beta_off": 0.5}


def told(config, row, steps) -> list[tuple[int, str]]:
    """When something was said, and what."""
    alarms = Alarms(config)
    heard = [(step, alarms.hear({"step": step, **row})) for step in steps]
    return [(step, words) for step, found in heard for words in found]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"on": 0.01}, "hardly any particle is on"),
        ({"on": 23.5}, "nearly all of the 24 particles are on"),
        ({"beta_off": 5e4}, "stuck on or off"),
        ({"box": 0.4}, "particles merge"),
    ],
)
def test_what_lasts_is_told_once_and_what_passes_is_not(change, says):
    assert told(LITE_DLP, WELL, range(0, 5000, 20)) == []
    (step, words), *more = told(LITE_DLP, WELL | change, range(0, 5000, 20))
    assert says in words
    assert 300 < step < 1000
    assert more == []
    assert told(LITE_DLP, WELL | change, range(0, 700, 20)) == [], "it may still pass"
    alarms = Alarms(LITE_DLP)
    for step in range(0, 5000, 20):
        ill = step % 400 < 200
        assert alarms.hear({"step": step, **(WELL | change if ill else WELL)}) == []


def test_warm_ups_and_other_encoders_have_no_such_signs():
    ill = WELL | {"on": 0.0}
    assert told(PAPER_DLP, ill, range(0, PAPER_DLP.warmup_steps, 20)) == []
    assert told(LITE_VAE, {"loss": 1.0}, range(0, 5000, 20)) == []
    assert told(LITE_DLP, {"loss": 1.0}, range(0, 5000, 20)) == []


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_weights(tmp_path):
    data, kept = write_frames(tmp_path / "frames"), {}
    folder = tmp_path / "run/checkpoints"

    def spoil(row) -> None:
        if row["step"] == 7:
            kept.update({path.name: path.read_bytes() for path in folder.iterdir()})
            next(trainer.bench.model.parameters()).data.fill_(torch.nan)

    trainer = begin(tiny(data), tmp_path / "run", spoil)
    with pytest.raises(NotFiniteError, match=r"(?s)nan.*at step 7.*Kept as they were.*metrics"):
        trainer.run()
    assert set(kept) == {"last.safetensors", "best.safetensors"}
    assert kept == {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(NotFiniteError, match="gradient's norm is inf"):
        check_gradient(torch.tensor(torch.inf), 3, "Nothing was saved yet.")


def test_alarms_are_written_beside_the_metrics(tmp_path):
    data, heard = write_frames(tmp_path / "frames"), []
    trainer = begin(tiny(data), tmp_path / "run", heard.append)
    trainer._alarms.hear = lambda row: ["look here"] if row["step"] == 4 else []
    trainer.run()
    assert [row["step"] for row in heard if "alarm" in row] == [4]
    assert '{"step": 4, "alarm": "look here"}' in (tmp_path / "run/metrics.jsonl").read_text()
