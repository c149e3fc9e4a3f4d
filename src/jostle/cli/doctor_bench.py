"""`jostle doctor --bench`: how fast this machine simulates, encodes and learns, as small JSON."""

import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch

from jostle.core.devices import move_frames, resolve_device, scenes_at_once
from jostle.encoders.catalog import ENCODERS, build_encoder
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.policy import RandomPolicy
from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.rollout.rollout import rollout
from jostle.runs.run_dir import RunDir
from jostle.training.start import scripted_teacher
from jostle.training.train import make_trainer

_ENVS, _STEPS = 16, 10
"""Environments and steps of one measured episode."""


def bench(device_name: str, seconds: float) -> dict[str, Any]:
    """Measure each part for about so many seconds; the numbers are per second."""
    device = resolve_device(device_name)
    return {
        "env_steps_per_second": {
            "state": _env_steps("state", seconds),
            "pixels": _env_steps("both", seconds),
        },
        "images_per_second": _images(device, seconds),
        "updates_per_second": _updates(device_name, seconds),
        "device": _describe(device),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "versions": {
            "jostle": version("jostle"),
            "mujoco": mujoco.__version__,  # it may come from the distribution mujoco-core
            "torch": torch.__version__,
        },
    }


def _env_steps(obs_type: str, seconds: float) -> float:
    """Environment steps with random actions: 3-Cubes, state alone or with two views of images."""
    env = TabletopVectorEnv(_ENVS, "ThreeCubes", obs_type=obs_type, autoreset_mode="Disabled")
    try:
        return _rate(lambda: rollout(env, RandomPolicy(), _STEPS, seed=0), seconds, _ENVS * _STEPS)
    finally:
        env.close()


def _images(device: torch.device, seconds: float) -> float:
    """Images that the lite particle encoder encodes, with the way to the device and back."""
    config = ENCODERS["dlp"].presets["lite"]
    encoder = build_encoder("dlp", config).to(device).eval()
    size, views = config.image_size, 2
    scenes = scenes_at_once(device, views, size)
    rng = np.random.default_rng(0)
    frames = torch.from_numpy(rng.integers(0, 255, (scenes, views, size, size, 3), np.uint8))
    return _rate(
        lambda: encoder.encode(move_frames(frames, device)).values.cpu(), seconds, scenes * views
    )


def _updates(device: str, seconds: float) -> float:
    """Updates of the default agent of 3-Cubes from state, with batches sampled from replay."""
    experiment = make_experiment("three-cubes", Axes(method="td3"))
    training = replace(
        experiment.training, num_envs=_ENVS, horizon=_STEPS, replay_size=10_000, device=device
    )
    experiment = replace(experiment, training=training)
    trainer = make_trainer(experiment, RunDir(Path("bench")), _drop, None, scripted_teacher)
    trainer.iterate()  # episodes of random actions
    components, batch_size = trainer.components, experiment.td3.batch_size

    def update() -> None:
        log = components.agent.update(components.sampler.sample(batch_size))
        float(log["critic_loss"])  # waits for the device

    try:
        return _rate(update, seconds, 1)
    finally:
        components.env.close()


def _drop(row: dict[str, Any]) -> None:
    """Drop a row of metrics."""
    del row


def _rate(work: Callable[[], object], seconds: float, amount: int) -> float:
    """How often per second `work` does `amount` of something; the first call is not counted."""
    work()
    start, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - start < seconds:
        work()
        calls += 1
    return round(calls * amount / (time.perf_counter() - start), 1)


def _describe(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
