"""ONNX files compute what the agent computes, for sets of any size that fits."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from experiments import quiet, small_encoder, tiny, tiny_pixels  # noqa: E402
from jostle.cli.main import main  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError, ExportError  # noqa: E402
from jostle.encoders.saving import save_encoder  # noqa: E402
from jostle.exporting import onnx_export  # noqa: E402
from jostle.exporting.onnx_check import set_error  # noqa: E402
from jostle.exporting.onnx_export import export_onnx  # noqa: E402
from jostle.exporting.options import OnnxOptions  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.training.start import start_run  # noqa: E402
from jostle.zoo.agents import load_zoo_agent  # noqa: E402
from missing_packages import run_without  # noqa: E402

EXAMPLE = Path(__file__).parents[2] / "docs/examples/onnx_agent.py"
FEW = OnnxOptions(observations=8)


def untrained(folder, task, axes):
    """Experiment and agent of a training that never started."""
    trainer = start_run(tiny(task, axes), folder / "run", quiet)
    return trainer.experiment, trainer.components.agent


@pytest.fixture(scope="module")
def pixel_agent(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pixels")
    experiment = tiny_pixels(folder, method="dagger")
    encoder = small_encoder()  # opacities of an untrained encoder are all the same
    torch.nn.init.normal_(encoder.encoder.attributes.glimpse_encoder.head.weight)
    save_encoder(folder / "encoder.safetensors", encoder, {})
    trainer = start_run(experiment, folder / "run", quiet)
    return trainer.experiment, trainer.components.agent


@pytest.fixture(scope="module")
def state_files(tmp_path_factory):
    """Files of an agent that was trained on three cubes, with room for five."""
    out = tmp_path_factory.mktemp("onnx") / "three"
    experiment, agent = load_zoo_agent("three-cubes-state")
    export_onnx("three-cubes-state", experiment, agent, out, OnnxOptions(objects=5))
    return out, agent


@pytest.fixture(scope="module")
def pixel_files(pixel_agent, tmp_path_factory):
    out = tmp_path_factory.mktemp("onnx") / "pixels"
    return out, export_onnx("tiny", *pixel_agent, out, FEW)


def random_inputs(batch, objects, rng):
    return {
        "observation": rng.normal(0, 0.1, (batch, 1 + objects, 3)).astype(np.float32),
        "desired_goal": rng.normal(0, 0.1, (batch, objects, 2)).astype(np.float32),
        "present": np.ones((batch, objects), bool),
    }


def test_the_description_says_what_the_files_are(state_files):
    out, agent = state_files
    description = json.loads((out / "agent.json").read_text())
    assert sorted(path.name for path in out.iterdir()) == ["actor.onnx", "agent.json"]
    assert (description["env_id"], description["opset"]) == ("jostle/ThreeCubes-v0", 17)
    assert description["columns"] == {"observation": ["x", "y", "z"], "desired_goal": ["x", "y"]}
    assert description["check"]["observations"] >= 100
    assert 0 < description["check"]["max_error"]["action"] <= description["check"]["tolerance"]
    session = onnxruntime.InferenceSession(out / "actor.onnx")
    inputs = description["graphs"]["actor"]["inputs"]
    assert {given.name: given.shape for given in session.get_inputs()} == {
        name: array["shape"] for name, array in inputs.items()
    }
    np.testing.assert_allclose(description["normalization"]["mean"], agent.normalizer.mean)


def test_objects_that_are_not_present_do_not_count(state_files, rng):
    session = onnxruntime.InferenceSession(state_files[0] / "actor.onnx")
    inputs = random_inputs(3, 5, rng)
    inputs["present"][:, 3:] = False
    other = {name: array.copy() for name, array in inputs.items()}
    other["observation"][:, 4:] = other["desired_goal"][:, 3:] = 7.0
    before, after = (session.run(None, given)[0] for given in (inputs, other))
    np.testing.assert_array_equal(before, after)
    inputs["present"][:, 3:] = True
    assert np.abs(session.run(None, inputs)[0] - before).max() > 1e-3


def test_a_batch_is_its_rows(state_files, rng):
    session = onnxruntime.InferenceSession(state_files[0] / "actor.onnx")
    inputs = random_inputs(7, 5, rng)
    rows = [{name: array[[row]] for name, array in inputs.items()} for row in range(7)]
    alone = np.concatenate([session.run(None, row)[0] for row in rows])
    np.testing.assert_allclose(session.run(None, inputs)[0], alone, atol=1e-6)


@pytest.mark.parametrize(
    ("task", "axes"),
    [
        ("two-cubes", Axes(method="td3", arch="smorl")),
        ("two-cubes", Axes(method="td3", arch="mlp")),
        ("two-cubes", Axes(method="td3", size="paper")),
        ("push-t", Axes(method="td3")),
        ("mixed-goals", Axes(method="dagger")),
    ],
    ids=["smorl", "mlp", "paper", "headings", "padded"],
)
def test_every_kind_of_true_state_is_exported(task, axes, tmp_path):
    experiment, agent = untrained(tmp_path, task, axes)
    description = export_onnx("agent", experiment, agent, tmp_path / "out", FEW)
    assert description["check"]["max_error"]["action"] <= 1e-4


def test_a_pixel_agent_has_an_encoder_and_names_its_cameras(pixel_files):
    out, description = pixel_files
    assert {path.name for path in out.iterdir()} == {"actor.onnx", "encoder.onnx", "agent.json"}
    assert description["cameras"] == ["front", "side"]
    assert description["env_kwargs"]["image_size"] == 128
    assert description["graphs"]["encoder"]["inputs"]["frames"] == {
        "shape": ["batch", 2, 128, 128, 3],
        "dtype": "uint8",
    }
    assert set(description["check"]["max_error"]) == {"action", "entities"}


def run_example(folder):
    """What the example prints in a process that cannot import torch."""
    code = f"import runpy; runpy.run_path({str(EXAMPLE)!r})"
    answer = run_without(("torch", "onnx"), code, str(folder))
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_pixel_agent_runs_without_torch(pixel_files):
    assert "of the objects at their goals" in run_example(pixel_files[0])


def test_an_opset_without_an_operator_is_refused_by_one_sentence(pixel_agent, tmp_path, capfd):
    with pytest.raises(BadValueError) as error:
        export_onnx("tiny", *pixel_agent, tmp_path / "out", OnnxOptions(opset=15))
    assert "needs the operator grid_sampler, which ONNX opset 15 lacks" in str(error.value)
    assert "--opset 16 or later" in str(error.value)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().out == ""  # the exporter would dump its graph


@pytest.mark.parametrize("opset", [3, 99])
def test_opsets_that_nobody_writes_are_refused(opset):
    with pytest.raises(BadValueError, match="opset must be from 13 to 20"):
        OnnxOptions(opset=opset)


def test_files_that_differ_from_torch_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_export, "TOLERANCE", 1e-12)
    agent = untrained(tmp_path, "one-cube", Axes(method="td3"))
    with pytest.raises(ExportError, match="differs from torch: the largest error of action is"):
        export_onnx("agent", *agent, tmp_path / "out", FEW)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_sets_are_compared_without_an_order(rng):
    values = rng.normal(size=(2, 2, 6, 3)).astype(np.float32)
    visible = rng.random((2, 2, 6)) > 0.3
    sets, order = Entities(values, visible), rng.permutation(6)
    assert set_error(sets.map(lambda array: array[:, :, order]), sets) == 0
    moved = values.copy()
    moved[visible] += 0.01
    assert set_error(Entities(moved, visible), sets) == pytest.approx(0.01, rel=1e-3)
    assert set_error(Entities(values, np.ones_like(visible)), sets) == np.inf


def test_more_objects_than_an_agent_can_have_are_refused(tmp_path):
    experiment, agent = untrained(tmp_path, "two-cubes", Axes(method="td3", arch="mlp"))
    with pytest.raises(BadValueError, match="was trained with 2 objects and cannot have 3"):
        export_onnx("agent", experiment, agent, tmp_path / "out", OnnxOptions(objects=3))


def test_the_command_needs_a_new_folder_and_its_packages(tmp_path, monkeypatch, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    words = ["export", "onnx", "one-cube-state", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["jostle", *words])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"
    code = "from jostle.cli.main import main; main()"
    words[-1] = str(tmp_path / "new")
    answer = run_without(("onnxruntime",), code, *words)
    assert answer.returncode == 1
    assert "needs the package onnxruntime: pip install 'jostle[onnx]'" in answer.stderr
    assert not (tmp_path / "new").exists()


def test_the_command_writes_an_agent_that_solves_its_task_without_torch(
    tmp_path, monkeypatch, capsys
):
    words = ["export", "onnx", "one-cube-state", "--out", str(tmp_path / "one")]
    monkeypatch.setattr(sys, "argv", ["jostle", *words, "--observations", "8"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert "opset 17; largest error on 8 observations: action" in capsys.readouterr().out
    assert run_example(tmp_path / "one") == "100% of the objects at their goals\n"
