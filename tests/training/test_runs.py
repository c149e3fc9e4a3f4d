"""Runs: every method trains, stops, and resumes bit-for-bit, even after being killed."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from experiments import (  # noqa: E402
    DAGGER,
    TD3,
    assert_same_tensors,
    kill_during_run,
    metric_rows,
    quiet,
    stop_at,
    tiny,
)
from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.profiler import TIME_PREFIX, time_shares  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.runs.config import ConfigMismatchError  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.tasks.catalog import TASKS, dashed  # noqa: E402
from jostle.training.experiment import differences, read_experiment  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402


def test_the_times_of_the_parts_add_up_to_the_time_of_the_iterations(tmp_path):
    start_run(tiny(), tmp_path / "run", quiet).run()
    rows = RunDir(tmp_path / "run").rows()
    spent = sum(value for row in rows for key, value in row.items() if key.startswith(TIME_PREFIX))
    assert spent == pytest.approx(rows[-1]["seconds"], rel=0.05)
    shares = time_shares(rows)
    assert {"physics", "acting", "sampling", "updating", "other"} <= set(shares)
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["td3", "td3-demos", "dagger"])
def test_every_method_trains_and_writes_a_run(method, tmp_path):
    start_run(tiny(axes=Axes(method=method)), tmp_path / "run", quiet).run()
    rows = metric_rows(tmp_path / "run")
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert "success" in rows[2]
    assert rows[-1]["updates"] > 0
    assert (tmp_path / "run/checkpoints/best.safetensors").is_file()
    history = load(tmp_path / "run/checkpoints/final.safetensors")[1]["history"]
    assert [(stage["method"], stage["env_steps"]) for stage in history] == [(method, 720)]
    provenance = json.loads((tmp_path / "run/provenance.json").read_text())
    assert provenance["packages"]["torch"] == torch.__version__


@pytest.mark.parametrize(
    ("axes", "training"), [(TD3, {}), (DAGGER, {}), (DAGGER, {"prioritized_fraction": 0.5})]
)
def test_a_stopped_run_resumes_bit_for_bit(axes, training, tmp_path):
    start_run(tiny(axes=axes, **training), tmp_path / "whole", quiet).run()
    with pytest.raises(StopRequested):
        start_run(tiny(axes=axes, **training), tmp_path / "stopped", stop_at(3)).run()
    resume_run(tmp_path / "stopped", quiet).run()
    assert metric_rows(tmp_path / "stopped") == metric_rows(tmp_path / "whole")
    for name in ("last", "best", "best-critics", "final", "final-critics"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "stopped" / file)


@pytest.mark.parametrize("iteration", [4, 5])
def test_a_run_that_failed_resumes_bit_for_bit_from_its_last_checkpoint(iteration, tmp_path):
    start_run(tiny(), tmp_path / "whole", quiet).run()
    failing = start_run(tiny(), tmp_path / "failed", stop_at(iteration, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        failing.run()
    resume_run(tmp_path / "failed", quiet).run()
    assert metric_rows(tmp_path / "failed") == metric_rows(tmp_path / "whole")
    file = "checkpoints/last.safetensors"
    assert_same_tensors(tmp_path / "whole" / file, tmp_path / "failed" / file)


def test_a_killed_run_resumes_bit_for_bit(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from experiments import quiet, tiny\n"
        "from jostle.training.start import resume_run, start_run\n"
        "folder = Path(sys.argv[2])\n"
        "started = (folder / 'experiment.json').exists()\n"
        "trainer = resume_run(folder, quiet) if started else start_run(tiny(), folder, quiet)\n"
        "trainer.run()\n"
    )
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, str(script), tests, str(tmp_path / "killed")]
    for delay in (0.3, 0.9):  # once before, once after a checkpoint exists, or nearly so
        kill_during_run(command, tmp_path / "killed/metrics.jsonl", delay)
    subprocess.run(command, check=True)
    subprocess.run([*command[:-1], str(tmp_path / "whole")], check=True)
    assert metric_rows(tmp_path / "killed") == metric_rows(tmp_path / "whole")


def test_a_run_is_never_overwritten(tmp_path):
    start_run(tiny(), tmp_path / "run", quiet)
    with pytest.raises(BadValueError, match="--resume"):
        start_run(tiny(), tmp_path / "run", quiet)


def test_resuming_as_another_experiment_names_the_fields(tmp_path):
    start_run(tiny(), tmp_path / "run", quiet)
    resume_run(tmp_path / "run", quiet, tiny())
    other = replace(tiny(), seed=3, td3=replace(tiny().td3, gamma=0.5))
    with pytest.raises(ConfigMismatchError, match="seed: 0 there, 3 here") as caught:
        resume_run(tmp_path / "run", quiet, other)
    assert "td3.gamma" in str(caught.value)


def every_axes() -> list[Axes]:
    """All combinations of the axes that make sense."""
    choices = {
        "obs": ("state", "pixels"), "method": ("td3", "td3-demos", "td3-privileged", "dagger"),
        "size": ("fast", "paper"), "arch": ("eit", "smorl", "mlp"), "views": (1, 2),
        "colors": ("fixed", "random"), "finetune": (False, True),
    }  # fmt: skip
    found = []
    for values in product(*choices.values()):
        try:
            found.append(Axes(**dict(zip(choices, values, strict=True))))
        except BadValueError:
            continue
    return found


def test_experiments_survive_json():
    combinations = every_axes()
    assert len(combinations) > 50
    for task in ("cubes", "push-t", "push-2t", *map(dashed, TASKS)):
        for axes in combinations:
            try:
                experiment = make_experiment(task, axes)
            except BadValueError:  # its goals are places on the table, one per object
                assert axes.arch == "smorl"
                assert axes.pixels
                assert TASKS[make_experiment(task, TD3).task].name in (
                    "PushT",
                    "Sorting",
                    "Distractors",
                )
                continue
            again = read_experiment(json.loads(json.dumps(experiment.to_dict())))
            assert differences(experiment, again) == []
            assert again == experiment
    with pytest.raises(KeyError, match="Did you mean 'gamma'"):
        read_experiment({**tiny().to_dict(), "td3": {"gama": 0.9}})


@pytest.mark.skipif(find_spec("wandb") is not None, reason="Weights & Biases is installed")
def test_weights_and_biases_is_asked_for_by_a_flag_only(tmp_path):
    with pytest.raises(BadValueError, match="pip install wandb"):
        start_run(tiny(wandb=True), tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()


def test_a_shared_reward_is_for_values_per_entity(tmp_path):
    pooled = tiny("two-cubes", Axes(method="td3", values="pooled"))
    shared = replace(pooled, td3=replace(pooled.td3, shared_reward=True))
    with pytest.raises(BadValueError, match="--values per-entity"):
        start_run(shared, tmp_path / "run", quiet)
