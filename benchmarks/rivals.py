"""Other packages' tabletop environments: two copies, one per worker process.

Each measurement runs in a process of its own, so a rival that is absent or broken is a line in
the table and nothing worse.
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
PICTURE = {"width": 256, "height": 128}
"""As many pixels per step as two views of 128 by 128."""
PATIENCE = 300.0
"""Seconds after which a rival counts as hanging."""


@dataclass(frozen=True)
class Rival:
    """How another package's environment is made."""

    module: str
    """What to import so that its ids are known."""
    state_id: str
    """Id of the environment without pictures."""
    pixels_id: str
    """Id of the environment with pictures."""
    clock: str
    """Attribute or method that tells the simulated seconds of one step."""
    pixels: dict[str, Any] = field(default_factory=dict)
    """Options of the environment with pictures, beyond their size."""
    wrapped: bool = False
    """Whether pictures come from `render` rather than from the environment's observation."""


RIVALS = {
    "OGBench cube-triple": Rival(
        "ogbench", "cube-triple-v0", "visual-cube-triple-v0", "control_timestep"
    ),
    "Gymnasium-Robotics FetchPush": Rival(
        "gymnasium_robotics", "FetchPush-v4", "FetchPush-v4", "dt",
        pixels={"render_mode": "rgb_array"}, wrapped=True,
    ),
}  # fmt: skip


def compare(
    ours: Mapping[str, Callable[[], float]], action_seconds: float, rounds: int, seconds: float
) -> dict[str, Any]:
    """Run every rival against us in turns; `ours` measures our steps per second by kind."""
    found: dict[str, Any] = {}
    for title in RIVALS:
        found[title] = {
            kind: _contest(title, kind, run, action_seconds, rounds, seconds)
            for kind, run in ours.items()
        }
    return found


def _contest(
    title: str, kind: str, run: Callable[[], float], action_seconds: float, rounds: int,
    seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """Alternate with one rival; its figures, or the reason why there are none."""
    we, they, steps, simulated = [], [], [], []
    clock = 0.0
    for number in range(rounds):
        print(f"  {title}, {kind}: round {number + 1} of {rounds}", file=sys.stderr)
        found = _ask(title, kind, seconds)
        if "reason" in found:
            return found
        clock = found["step_seconds"]
        they.append(found["steps_per_second"])
        we.append(run())
        steps.append(we[-1] / they[-1])
        simulated.append(steps[-1] * action_seconds / clock)
    return {
        "theirs": max(they), "ours": max(we), "their_step_seconds": clock,
        "their_simulated_per_second": max(they) * clock,
        "our_simulated_per_second": max(we) * action_seconds,
        "ratio_steps": median(steps), "ratio_simulated": median(simulated),
        "ratios_steps": steps, "ratios_simulated": simulated,
    }  # fmt: skip


def _ask(title: str, kind: str, seconds: float) -> dict[str, Any]:
    """Measure a rival in a process of its own."""
    module = RIVALS[title].module
    if importlib.util.find_spec(module) is None:
        return {"reason": f"{module} is not installed"}
    # Without -O an assertion in gymnasium-robotics, which compares MuJoCo's enums with numpy's
    # integers, refuses every joint.
    command = [sys.executable, "-O", "-W", "ignore", __file__, title, kind, str(seconds)]
    surroundings = {**os.environ, "MUJOCO_GL": "egl"}
    surroundings.pop("LP_NUM_THREADS", None)  # jostle's own setting; rivals draw as they always do
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=surroundings, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return {"reason": f"did not finish within {PATIENCE:.0f} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"reason": f"failed: {words[-1]}"}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _make(rival: Rival, kind: str) -> gym.Env[Any, Any]:
    """Make one copy, without Gymnasium's checks."""
    importlib.import_module(rival.module)
    if kind == "state":
        return gym.make(rival.state_id, disable_env_checker=True)
    options = {**rival.pixels, **PICTURE}
    env = gym.make(rival.pixels_id, disable_env_checker=True, **options)
    return gym.wrappers.AddRenderObservation(env, render_only=True) if rival.wrapped else env


def main() -> None:
    """Measure one rival here and print the numbers as the last line."""
    title, kind, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    rival = RIVALS[title]
    # Spawned, not forked: software GL does not survive a fork.
    makers = [partial(_make, rival, kind)] * WORKERS
    envs = gym.vector.AsyncVectorEnv(makers, context="spawn")
    observation, _ = envs.reset(seed=0)
    if kind == "pixels" and observation.shape[1:] != (128, 256, 3):
        raise ValueError(f"pictures of {observation.shape[1:]} instead of (128, 256, 3)")
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(100)]
    for action in actions[:10]:
        envs.step(action)
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        envs.step(actions[steps % len(actions)])
        steps += 1
    speed = WORKERS * steps / (time.perf_counter() - began)
    clock = float(envs.call(rival.clock)[0])
    print(json.dumps({"steps_per_second": speed, "step_seconds": clock}))
    envs.close()


if __name__ == "__main__":
    main()
