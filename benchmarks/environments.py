"""Speed of the environments, compared with bare MuJoCo and with other packages.

Everything is compared within one run: the candidates take turns, and the median over the rounds
counts.
"""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import memory
import numpy as np
import other_packages
import tables
import tyro
from bare import Physics, Recording, RendererPool, record

from jostle.envs.vector import TabletopVectorEnv
from jostle.scene.controller import ACTION_SECONDS

NUM_ENVS, THREADS = 16, 2
NO_LIMIT = 1_000_000
"""Steps of an episode that no measurement reaches."""
CUBES = (1, 2, 3, 6, 12)


@dataclass(frozen=True)
class Options:
    """Measure the environments and write environments.json and environments.md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    rounds: int = 5
    """How often the candidates take turns."""
    quick: bool = False
    """One short round of everything: shows that it works, not how fast it is."""

    @property
    def num_rounds(self) -> int:
        """Rounds to run."""
        return 1 if self.quick else self.rounds

    @property
    def steps(self) -> int:
        """Steps per round in the comparison with bare MuJoCo."""
        return 20 if self.quick else 200

    @property
    def seconds(self) -> float:
        """Minimum time per round when steps per second are counted."""
        return 0.5 if self.quick else 4.0


def three_cubes(**options: Any) -> TabletopVectorEnv:
    """Make environments of jostle/ThreeCubes-v0."""
    return TabletopVectorEnv(NUM_ENVS, "ThreeCubes", threads=THREADS, **options)


def many_cubes(count: int) -> TabletopVectorEnv:
    """Make environments of jostle/NCubes-v0 with `count` cubes."""
    colors = [(0.1 + 0.07 * slot, 0.5, 0.9 - 0.07 * slot) for slot in range(count)]
    return TabletopVectorEnv(NUM_ENVS, "NCubes", objects=count, colors=colors, threads=THREADS)


def take_turns(
    candidates: Mapping[Any, Callable[[], float]], rounds: int
) -> dict[Any, list[float]]:
    """Run the candidates in turns; the first one of a round is the last one of the next."""
    results: dict[Any, list[float]] = {name: [] for name in candidates}
    names = [*candidates]
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            results[name].append(candidates[name]())
    return results


def seconds_per_call(
    prepare: Callable[[], Any], function: Callable[[Any], Any], inputs: Any
) -> float:
    """Mean seconds that `function` takes per input after `prepare`."""
    prepare()
    start = time.perf_counter()
    for value in inputs:
        function(value)
    return (time.perf_counter() - start) / len(inputs)


def steps_per_second(env: TabletopVectorEnv, seconds: float) -> float:
    """Steps per second of all environments together over whole episodes, including resets."""
    env.reset(seed=0)
    horizon = env.max_episode_steps or 1
    shape = (horizon + 1, env.num_envs, 3)  # one more call, which starts the next episodes
    actions = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    episodes, start = 0, time.perf_counter()
    while not episodes or time.perf_counter() - start < seconds:
        for action in actions:
            env.step(action)
        episodes += 1
    return env.num_envs * horizon * episodes / (time.perf_counter() - start)


def compare_bare(env: TabletopVectorEnv, recording: Recording, bare_step: Callable[[Any], Any],
                 physics: Physics, rounds: int) -> dict[str, Any]:  # fmt: skip
    """Compare an environment with bare MuJoCo that simulates the same states."""
    restore_env = partial(env.set_state, recording.start)
    restore_bare = partial(physics.restore, recording.start["states"])
    seconds = take_turns(
        {
            "ours": partial(seconds_per_call, restore_env, env.step, recording.actions),
            "bare": partial(seconds_per_call, restore_bare, bare_step, recording.controls),
        },
        rounds,
    )
    ratios = [ours / bare for ours, bare in zip(seconds["ours"], seconds["bare"], strict=True)]
    return {
        "ratio": median(ratios),
        "ratios": ratios,
        "our_best_step_ms": 1000 * min(seconds["ours"]),
        "bare_best_step_ms": 1000 * min(seconds["bare"]),
        "same_states": bool(np.array_equal(physics.states, recording.end)),
    }


def compare_states(recording: Recording, rounds: int) -> dict[str, Any]:
    """State observations against bare physics."""
    env = three_cubes(max_episode_steps=NO_LIMIT)
    physics = Physics(env, THREADS)
    return compare_bare(env, recording, physics.step, physics, rounds)


def compare_pixels(recording: Recording, rounds: int) -> dict[str, Any]:
    """Two views against bare physics and bare rendering."""
    env = three_cubes(max_episode_steps=NO_LIMIT, obs_type="pixels")
    observation = env.set_state(recording.start)
    physics, pool = Physics(env, THREADS), RendererPool(env, THREADS)
    physics.restore(recording.start["states"])
    pool.render(physics.qpos)
    cameras = env.episode_sampler.appearance.cameras
    images = np.stack([observation[camera.name] for camera in cameras], axis=1)
    difference = np.abs(images.astype(int) - pool.images[:, :, ::-1]).mean()

    def bare_step(controls: Any) -> None:
        physics.step(controls)
        pool.render(physics.qpos)

    results = compare_bare(env, recording, bare_step, physics, rounds)
    results |= {"mean_pixel_gap": float(difference), "renderer": pool.renderer_name}
    pool.close()
    env.close()
    return results


def compare_cubes(rounds: int, seconds: float) -> dict[str, Any]:
    """Steps per second by number of cubes."""
    runs = {count: partial(steps_per_second, many_cubes(count), seconds) for count in CUBES}
    speeds = take_turns(runs, rounds)
    return {
        str(count): {
            "steps_per_second": max(speeds[count]),
            "share_of_three": median(np.divide(speeds[count], speeds[3]).tolist()),
        }
        for count in CUBES
    }


def measure_speeds(runs: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Any]:
    """Steps per second of both observation types."""
    results = take_turns(runs, rounds)
    return {
        obs_type: {"steps_per_second": max(speeds), "median": median(speeds)}
        for obs_type, speeds in results.items()
    }


def measure(options: Options) -> dict[str, Any]:
    """Measure everything."""
    rounds, seconds = options.num_rounds, options.seconds
    say = partial(print, file=sys.stderr)
    say("Recording the steps to repeat")
    recording = record(three_cubes(max_episode_steps=NO_LIMIT), options.steps)
    say("State observations and bare physics in turns")
    figures = {"state_overhead": compare_states(recording, rounds)}
    say("Two views and bare rendering in turns")
    figures["pixels_overhead"] = compare_pixels(recording, rounds)
    say("Steps per second")
    envs = {obs_type: three_cubes(obs_type=obs_type) for obs_type in ("state", "pixels")}
    runs = {name: partial(steps_per_second, env, seconds) for name, env in envs.items()}
    figures["speed"] = measure_speeds(runs, rounds)
    say("More cubes")
    figures["cubes"] = compare_cubes(rounds, seconds)
    say("Memory")
    figures["memory"] = {name: memory.measure(name, NUM_ENVS, THREADS) for name in envs}
    say("Other packages")
    figures["other_packages"] = other_packages.compare(runs, ACTION_SECONDS, rounds, seconds)
    for env in envs.values():
        env.close()
    return figures


def main() -> None:
    """Measure, print and write."""
    options = tyro.cli(Options)
    figures = measure(options)
    settings = {
        "num_envs": NUM_ENVS,
        "threads": THREADS,
        "rounds": options.num_rounds,
        "steps": options.steps,
        "seconds": options.seconds,
        "quick": options.quick,
    }
    command = " ".join(["python benchmarks/environments.py", *sys.argv[1:]])
    renderer = figures["pixels_overhead"]["renderer"]
    report = tables.Report(command, tables.machine(renderer), settings, figures)
    report.write(options.out)
    print(report.text())


if __name__ == "__main__":
    main()
