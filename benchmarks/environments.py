"""How fast the environments are, beside bare MuJoCo and beside other packages.

Everything is compared within one run: contestants take turns, and the median over the rounds
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
import rivals
import tables
import tyro
from bare import Painters, Physics, Tape, record

from jostle.envs.vector import TabletopVectorEnv
from jostle.scene.drive import ACTION_SECONDS

COPIES, THREADS = 16, 2
ENDLESS = 1_000_000
"""Steps of an episode that no measurement reaches."""
CUBES = (1, 2, 3, 6, 12)


@dataclass(frozen=True)
class Options:
    """Measure the environments and write environments.json and environments.md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    rounds: int = 5
    """How often contestants take turns."""
    quick: bool = False
    """One short round of everything: shows that it works, not how fast it is."""

    @property
    def turns(self) -> int:
        """Rounds to run."""
        return 1 if self.quick else self.rounds

    @property
    def steps(self) -> int:
        """Steps per turn when racing bare MuJoCo."""
        return 20 if self.quick else 200

    @property
    def seconds(self) -> float:
        """Least time per turn when counting steps per second."""
        return 0.5 if self.quick else 4.0


def three_cubes(**options: Any) -> TabletopVectorEnv:
    """Make copies of jostle/ThreeCubes-v0."""
    return TabletopVectorEnv(COPIES, "ThreeCubes", threads=THREADS, **options)


def many_cubes(count: int) -> TabletopVectorEnv:
    """Make copies of jostle/NCubes-v0 with so many cubes."""
    hues = [(0.1 + 0.07 * slot, 0.5, 0.9 - 0.07 * slot) for slot in range(count)]
    return TabletopVectorEnv(COPIES, "NCubes", objects=count, colors=hues, threads=THREADS)


def race(contestants: Mapping[Any, Callable[[], float]], rounds: int) -> dict[Any, list[float]]:
    """Let contestants run in turns, the first of a round being the next one's last."""
    found: dict[Any, list[float]] = {name: [] for name in contestants}
    names = [*contestants]
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            found[name].append(contestants[name]())
    return found


def timed(prepare: Callable[[], Any], act: Callable[[Any], Any], inputs: Any) -> float:
    """Seconds per input that `act` takes after `prepare`."""
    prepare()
    began = time.perf_counter()
    for one in inputs:
        act(one)
    return (time.perf_counter() - began) / len(inputs)


def speed(env: TabletopVectorEnv, seconds: float) -> float:
    """Steps per second of all copies together over whole episodes, starting them included."""
    env.reset(seed=0)
    limit = env.limit or 1
    shape = (limit + 1, env.num_envs, 3)  # one call more, which begins the next episodes
    actions = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    episodes, began = 0, time.perf_counter()
    while not episodes or time.perf_counter() - began < seconds:
        for action in actions:
            env.step(action)
        episodes += 1
    return env.num_envs * limit * episodes / (time.perf_counter() - began)


def race_bare(env: TabletopVectorEnv, tape: Tape, plain: Callable[[Any], Any], physics: Physics,
              rounds: int) -> dict[str, Any]:  # fmt: skip
    """Race an environment against bare MuJoCo that goes through the same states."""
    restart = partial(physics.restart, tape.start["rows"])
    found = race(
        {
            "ours": partial(timed, partial(env.set_state, tape.start), env.step, tape.actions),
            "bare": partial(timed, restart, plain, tape.controls),
        },
        rounds,
    )
    ratios = [ours / bare for ours, bare in zip(found["ours"], found["bare"], strict=True)]
    return {
        "ratio": median(ratios),
        "ratios": ratios,
        "our_best_step_ms": 1000 * min(found["ours"]),
        "bare_best_step_ms": 1000 * min(found["bare"]),
        "same_states": bool(np.array_equal(physics.rows, tape.end)),
    }


def race_states(tape: Tape, rounds: int) -> dict[str, Any]:
    """State observations against bare physics."""
    env = three_cubes(max_episode_steps=ENDLESS)
    physics = Physics(env, THREADS)
    return race_bare(env, tape, physics.step, physics, rounds)


def race_pixels(tape: Tape, rounds: int) -> dict[str, Any]:
    """Two views against bare physics and bare drawing."""
    env = three_cubes(max_episode_steps=ENDLESS, obs_type="pixels")
    observation = env.set_state(tape.start)
    physics, painters = Physics(env, THREADS), Painters(env, THREADS)
    physics.restart(tape.start["rows"])
    painters.paint(physics.places)
    views = np.stack([observation[one.name] for one in env.recipe.look.cameras], axis=1)
    gap = np.abs(views.astype(int) - painters.pictures[:, :, ::-1]).mean()

    def plain(controls: Any) -> None:
        physics.step(controls)
        painters.paint(physics.places)

    found = race_bare(env, tape, plain, physics, rounds)
    found |= {"mean_pixel_gap": float(gap), "renderer": painters.renderer}
    painters.close()
    env.close()
    return found


def race_cubes(rounds: int, seconds: float) -> dict[str, Any]:
    """Steps per second by number of cubes."""
    runs = {count: partial(speed, many_cubes(count), seconds) for count in CUBES}
    found = race(runs, rounds)
    return {
        str(count): {
            "steps_per_second": max(found[count]),
            "share_of_three": median(np.divide(found[count], found[3]).tolist()),
        }
        for count in CUBES
    }


def race_speeds(runs: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Any]:
    """Steps per second of both kinds of observation."""
    found = race(runs, rounds)
    return {
        kind: {"steps_per_second": max(all_), "median": median(all_)}
        for kind, all_ in found.items()
    }


def measure(options: Options) -> dict[str, Any]:
    """Take every figure."""
    turns, seconds = options.turns, options.seconds
    say = partial(print, file=sys.stderr)
    say("Recording what to repeat")
    tape = record(three_cubes(max_episode_steps=ENDLESS), options.steps)
    say("State observations and bare physics in turns")
    figures = {"state_overhead": race_states(tape, turns)}
    say("Two views and bare drawing in turns")
    figures["pixels_overhead"] = race_pixels(tape, turns)
    say("Steps per second")
    envs = {kind: three_cubes(obs_type=kind) for kind in ("state", "pixels")}
    runs = {kind: partial(speed, env, seconds) for kind, env in envs.items()}
    figures["speed"] = race_speeds(runs, turns)
    say("More cubes")
    figures["cubes"] = race_cubes(turns, seconds)
    say("Memory")
    figures["memory"] = {kind: memory.measure(kind, COPIES, THREADS) for kind in envs}
    say("Other packages")
    figures["rivals"] = rivals.compare(runs, ACTION_SECONDS, turns, seconds)
    for env in envs.values():
        env.close()
    return figures


def main() -> None:
    """Measure, print and write."""
    options = tyro.cli(Options)
    figures = measure(options)
    settings = {
        "copies": COPIES,
        "threads": THREADS,
        "rounds": options.turns,
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
