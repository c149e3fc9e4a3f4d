"""`jostle train` as a user types it."""

import json
import signal
import subprocess
import sys
import time

import pytest
from typed import jostle

TINY = (
    "--num-envs", "2", "--env-steps", "100000", "--batch-size", "8", "--utd-ratio", "0.02",
    "--eval-every", "1", "--eval-episodes", "2", "--threads", "1",
)  # fmt: skip


def test_a_training_stops_between_iterations_on_a_signal_and_resumes(tmp_path):
    pytest.importorskip("torch")
    command = [sys.executable, "-c", "from jostle.cli.main import main; main()"]
    words = ["train", "one-cube", "--method", "td3", *TINY]
    process = subprocess.Popen(
        [*command, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    folder = tmp_path / "runs/one-cube-state-td3-0"
    deadline = time.monotonic() + 120
    while not (folder / "metrics.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=120)[0].decode()
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopping after this iteration" in output
    assert "jostle train --resume" in output
    assert (folder / "checkpoints/last.safetensors").is_file()
    resumed = jostle("train", "--resume", str(folder), "--minutes", "0.0001", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == list(range(1, len(rows) + 1))
    plotted = jostle("plot", str(folder), "--out", "c.png", cwd=tmp_path)
    assert plotted.returncode == 0, plotted.stderr
    assert (tmp_path / "c.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train"], "Name a task"),
        (["train", "one-cub"], "Did you mean 'one-cube'"),
        (["train", "one-cube", "--gamma", "1.5"], "discount in (0, 1)"),
        (["train", "one-cube", "--num-envs", "-1"], "num_envs must be at least 1"),
        (["train", "one-cube", "--from", "one-cube-state-td"], "Did you mean 'one-cube-state-td3'"),
        (["train", "three-cubes", "--stage-objects", "1", "3"], "fewer objects"),
        (["train", "three-cubes", "--stage-objects", "1"], "stage_env_steps needs"),
        (["train", "three-cubes", "--arch", "mlp", "--values", "per-entity"], "--values pooled"),
        (["train", "three-cubes", "--arch", "smorl", "--values", "per-entity"], "--values pooled"),
        (["train", "--resume", "nowhere"], "There is no run in nowhere"),
        (["plot", "nowhere"], "no metrics"),
        (["plot"], "at least one run directory"),
        (["plot", "one", "--out", "one.foo"], "must end in one of"),
    ],
)
def test_wrong_usage_of_train_is_answered_with_a_message(words, message, tmp_path):
    pytest.importorskip("torch")
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2, answer.stderr
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr
    assert not (tmp_path / "runs").exists()


def test_help_of_train_lists_every_recipe_of_the_zoo(tmp_path):
    pytest.importorskip("torch")
    from jostle.presets.recipes import RECIPES
    from jostle.zoo.registry import agents

    answer = jostle("train", "--help", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert set(RECIPES) == set(agents())
    assert all(f"  {words}\n" in f"{answer.stdout}\n" for words in RECIPES.values())


def test_an_old_preset_is_answered_with_its_flags(tmp_path):
    pytest.importorskip("torch")
    answer = jostle("train", "one-cube-pixels-distill", cwd=tmp_path)
    assert answer.returncode == 2
    assert "jostle train one-cube --obs pixels --method dagger" in answer.stderr
