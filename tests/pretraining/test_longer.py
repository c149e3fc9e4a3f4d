"""Pretrainings that go on to a new total, and encoders of runs before their first validation."""

import pytest

torch = pytest.importorskip("torch")

from experiments import quiet, stop_at  # noqa: E402
from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.encoders.saving import load_encoder  # noqa: E402
from jostle.pretraining.start import resume_run, start_run  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.zoo.encoders import find_encoder_file  # noqa: E402
from synthetic_frames import tiny, write_frames  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_frames(tmp_path_factory.mktemp("frames"))


def test_a_finished_pretraining_goes_on_and_says_what_becomes_of_the_step_size(data, tmp_path):
    start_run(tiny(data, "slots", steps=4), tmp_path / "run", quiet).run()
    notes: list[str] = []
    trainer = resume_run(tmp_path / "run", quiet, steps=8, notify=notes.append)
    assert "has done 4 gradient steps and goes on to 8" in notes[0]
    assert "cosine" in notes[1]
    assert f"it is now {trainer.config.lr_at(4):.2g}" in notes[1]
    trainer.run()
    run = RunDir(tmp_path / "run")
    assert run.rows()[-1]["step"] == 8
    assert run.read_experiment()["steps"] == 8
    with pytest.raises(BadValueError, match="has done 8 gradient steps already"):
        resume_run(tmp_path / "run", quiet, steps=5)
    with pytest.raises(BadValueError, match="at least 1"):
        resume_run(tmp_path / "run", quiet, steps=0)


@pytest.mark.parametrize(("ema_decay", "part"), [(0.0, "model"), (0.9, "ema")])
def test_an_encoder_before_its_first_validation_is_that_of_the_last_checkpoint(
    ema_decay, part, data, tmp_path
):
    run = RunDir(tmp_path / "run")
    config = tiny(data, "slots", ema_decay=ema_decay)
    with pytest.raises(StopRequested):
        start_run(config, run.path, stop_at(2, counter="step")).run()
    assert not run.best.exists()
    assert find_encoder_file(str(run.path)) == run.last
    model = load_encoder(find_encoder_file(str(run.path)))[0]
    saved = load(run.last)[0]
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, saved[f"encoder.{part}.{name}"])
    trainer = start_run(config, tmp_path / "next", quiet, run.path)
    for name, tensor in trainer.components.model.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name])
