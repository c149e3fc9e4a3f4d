"""Experiments that take seconds, and what tests of runs share."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from jostle.agents.networks import ObservationSpec
from jostle.core.checkpoint import load
from jostle.core.entities import FEATURES, POSITION, TABLE_XY, EntityLayout
from jostle.core.profiler import TIME_PREFIX
from jostle.encoders.dlp import DLP
from jostle.encoders.dlp_config import LITE_DLP
from jostle.encoders.saving import save_encoder
from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.runs.trainer import StopRequested
from jostle.training.experiment import Experiment

TD3 = Axes(method="td3")
DAGGER = Axes(method="dagger")


def tiny(task: str = "one-cube", axes: Axes = TD3, **training: Any) -> Experiment:
    """An experiment of six iterations of four episodes; episodes of one cube have 30 steps."""
    experiment = make_experiment(task, axes)
    settings = {
        "num_envs": 4, "env_steps": 4 * 30 * 6, "random_episodes": 8, "replay_size": 2000,
        "utd_ratio": 0.1, "eval_every": 3, "eval_episodes": 4, "save_every": 2, "threads": 1,
        "curriculum": False,
    }  # fmt: skip
    if axes.method == "td3":
        settings["lr_decay_fraction"] = 0.0
    return replace(
        experiment,
        td3=replace(experiment.td3, batch_size=16),
        training=replace(experiment.training, **{**settings, **training}),
    )


def observation_spec(
    state: tuple[int, int, int], goal: tuple[int, int, int], table_xy: bool = False
) -> ObservationSpec:
    """Entities with a position first and, with `table_xy`, one on the table last."""
    layout = EntityLayout(((POSITION, 2), (FEATURES, state[2] - 2 - 2 * table_xy)))
    layout = layout.plus(TABLE_XY, 2) if table_xy else layout
    return ObservationSpec(state=state, goal=goal, layout=layout)


def small_encoder(image_size: int = 128) -> DLP:
    """An untrained encoder of four particles."""
    torch.manual_seed(0)
    config = replace(LITE_DLP, image_size=image_size, num_particles=4, num_proposals=4)
    return DLP(config).requires_grad_(False).eval()


def tiny_pixels(
    folder: Path, task: str = "one-cube", method: str = "dagger", **axes: Any
) -> Experiment:
    """A training from images of four iterations of two episodes; its encoder lies in `folder`."""
    encoder = folder / "encoder.safetensors"
    save_encoder(encoder, small_encoder(), {})
    experiment = tiny(
        task, Axes(obs="pixels", method=method, encoder=str(encoder), **axes), num_envs=2,
        horizon=3, env_steps=2 * 3 * 4, replay_size=60, utd_ratio=0.4, eval_every=4,
        eval_episodes=2, random_episodes=2, teacher="oracle",
    )  # fmt: skip
    renders = min(experiment.hindsight.goal_render_every, 3)
    return replace(experiment, hindsight=replace(experiment.hindsight, goal_render_every=renders))


def quiet(row: dict[str, Any]) -> None:
    """Report nothing."""
    del row


def stop_at(
    number: int, error: type[BaseException] = StopRequested, counter: str = "iteration"
) -> Callable[[Any], None]:
    """A report that ends the run after one of its iterations."""

    def report(row: dict[str, Any]) -> None:
        if row[counter] == number:
            raise error

    return report


def metric_rows(folder: Path) -> list[dict[str, Any]]:
    """The metrics of a run, without times."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert all(row["seconds"] > 0 for row in rows)
    clocks = ("seconds", "images_per_second", TIME_PREFIX)
    return [{key: row[key] for key in row if not key.startswith(clocks)} for row in rows]


def assert_same_tensors(first: Path, second: Path) -> None:
    """Compare two checkpoints bit for bit."""
    (left, _), (right, _) = load(first), load(second)
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name


def kill_during_run(command: list[str], metrics: Path, delay: float) -> None:
    """Start a training and kill it so many seconds after it has written metrics."""
    before = metrics.stat().st_mtime_ns if metrics.exists() else 0
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 60
    while not metrics.exists() or metrics.stat().st_mtime_ns == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()


TINY_WORDS = (
    "one-cube --method td3 --num-envs 4 --horizon 6 --env-steps 96 --random-episodes 4 "
    "--eval-every 2 --eval-episodes 2 --replay-size 1000 --utd-ratio 0.1"
)
"""Words of `jostle train` for a training of seconds."""
