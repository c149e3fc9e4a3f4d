"""Speed of other packages' tabletop environments: two environments, one per worker process.

Each measurement runs in a process of its own, so a package that is missing or broken is reported
in the table and does not stop the benchmark.
"""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import gymnasium as gym

WORKERS = 2
IMAGE_SIZE = {"width": 256, "height": 128}
"""As many pixels per step as two views of 128 by 128."""
TIMEOUT = 300.0
"""Seconds after which a measurement is given up."""


@dataclass(frozen=True)
class Package:
    """How another package's environment is made."""

    module: str
    """Module whose import registers the ids."""
    state_id: str
    """Id of the environment with state observations."""
    pixels_id: str
    """Id of the environment with images."""
    step_seconds: str
    """Attribute or method for the simulated seconds of one step."""
    pixels: dict[str, Any] = field(default_factory=dict)
    """Options of the environment with images, beyond their size."""
    rendered: bool = False
    """Whether images come from `render` instead of the observation."""


PACKAGES = {
    "OGBench cube-triple": Package(
        "ogbench", "cube-triple-v0", "visual-cube-triple-v0", "control_timestep"
    ),
    "Gymnasium-Robotics FetchPush": Package(
        "gymnasium_robotics", "FetchPush-v4", "FetchPush-v4", "dt",
        pixels={"render_mode": "rgb_array"}, rendered=True,
    ),
}  # fmt: skip


def compare(
    ours: Mapping[str, Callable[[], float]], action_seconds: float, rounds: int, seconds: float
) -> dict[str, Any]:
    """Compare with every package; `ours` measures our steps per second by observation type."""
    return {
        title: {
            obs_type: _compare(title, obs_type, run, action_seconds, rounds, seconds)
            for obs_type, run in ours.items()
        }
        for title in PACKAGES
    }


def _compare(
    title: str, obs_type: str, run: Callable[[], float], action_seconds: float, rounds: int,
    seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """Take turns with one package; the results, or the reason why there are none."""
    ours, theirs, steps, simulated = [], [], [], []
    step_seconds = 0.0
    for number in range(rounds):
        print(f"  {title}, {obs_type}: round {number + 1} of {rounds}", file=sys.stderr)
        result = _measure(title, obs_type, seconds)
        if "reason" in result:
            return result
        step_seconds = result["step_seconds"]
        theirs.append(result["steps_per_second"])
        ours.append(run())
        steps.append(ours[-1] / theirs[-1])
        simulated.append(steps[-1] * action_seconds / step_seconds)
    return {
        "theirs": max(theirs), "ours": max(ours), "their_step_seconds": step_seconds,
        "their_simulated_per_second": max(theirs) * step_seconds,
        "our_simulated_per_second": max(ours) * action_seconds,
        "ratio_steps": median(steps), "ratio_simulated": median(simulated),
        "ratios_steps": steps, "ratios_simulated": simulated,
    }  # fmt: skip


def _measure(title: str, obs_type: str, seconds: float) -> dict[str, Any]:
    """Measure a package in a process of its own."""
    module = PACKAGES[title].module
    if importlib.util.find_spec(module) is None:
        return {"reason": f"{module} is not installed"}
    # Without -O an assertion in gymnasium-robotics, which compares MuJoCo's enums with numpy's
    # integers, refuses every joint.
    command = [sys.executable, "-O", "-W", "ignore", __file__, title, obs_type, str(seconds)]
    environment = {**os.environ, "MUJOCO_GL": "egl"}
    environment.pop("LP_NUM_THREADS", None)  # set by jostle; others render with their defaults
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return {"reason": f"did not finish within {TIMEOUT:.0f} s"}
    lines = process.stdout.strip().splitlines()
    if process.returncode or not lines:
        messages = process.stderr.strip().splitlines() or [f"exit code {process.returncode}"]
        return {"reason": f"failed: {messages[-1]}"}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _make(package: Package, obs_type: str) -> gym.Env[Any, Any]:
    """Make one environment, without Gymnasium's checks."""
    importlib.import_module(package.module)
    if obs_type == "state":
        return gym.make(package.state_id, disable_env_checker=True)
    options = {**package.pixels, **IMAGE_SIZE}
    env = gym.make(package.pixels_id, disable_env_checker=True, **options)
    return gym.wrappers.AddRenderObservation(env, render_only=True) if package.rendered else env


def main() -> None:
    """Measure one package in this process and print the numbers as the last line."""
    title, obs_type, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    package = PACKAGES[title]
    # Spawned, not forked: software GL does not survive a fork.
    factories = [partial(_make, package, obs_type)] * WORKERS
    envs = gym.vector.AsyncVectorEnv(factories, context="spawn")
    observation, _ = envs.reset(seed=0)
    if obs_type == "pixels" and observation.shape[1:] != (128, 256, 3):
        raise ValueError(f"images of {observation.shape[1:]} instead of (128, 256, 3)")
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(100)]
    for action in actions[:10]:
        envs.step(action)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        envs.step(actions[steps % len(actions)])
        steps += 1
    speed = WORKERS * steps / (time.perf_counter() - start)
    step_seconds = float(envs.call(package.step_seconds)[0])
    print(json.dumps({"steps_per_second": speed, "step_seconds": step_seconds}))
    envs.close()


if __name__ == "__main__":
    main()
