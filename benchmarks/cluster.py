"""How workers speed up a training: measured here, and a model of larger machines.

python benchmarks/cluster.py

Four minutes on an idle machine with Linux. Needs the extra `cluster`. Writes cluster.md and
cluster.json to docs/results. The model is compared with the real scheduling of workers that sleep
instead of simulating.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from process_times import Others, own_seconds, settle

from jostle.cluster.ray_session import ray_session
from jostle.presets.words import parse_words
from jostle.reports.tables import markdown_table
from jostle.runs.run_dir import RunDir
from jostle.training.collection_config import CollectionConfig
from jostle.training.components import agent_encoder
from jostle.training.off_policy import OffPolicyTrainer
from jostle.training.ray_workers import RayWorkers
from jostle.training.train import make_trainer
from jostle.training.worker import versions
from jostle.zoo.agents import load_teacher
from jostle.zoo.encoders import load_encoder

TRAININGS = {
    "state": "three-cubes --method td3-demos --num-envs 16 --horizon 10 --batch-size 64",
    "pixels": "three-cubes --obs pixels --method td3 --num-envs 8 --horizon 10 --batch-size 64",
}
"""Short episodes and small batches: an iteration takes seconds."""
GPU_SPEEDUPS = (1, 10, 30)
"""How much faster a GPU might update: guesses, because it was not measured."""
CORES = 64


ROUNDS = 3
"""Fewest rounds, however long they take."""
BLOCK = 2
"""Iterations in a row of workers that do not wait; one more before is not counted."""


@dataclass(frozen=True)
class Options:
    """Measure and write."""

    out: Path = Path("docs/results")
    """Folder for cluster.md and cluster.json."""
    seconds: float = 65.0
    """How long to measure each kind of observation, besides starting; at least three rounds."""


@dataclass(frozen=True)
class Measured:
    """Seconds of an iteration: medians over rounds in which all ways take turns."""

    env_steps: int
    updates: int
    learning: float
    """Updates alone, in one process."""
    seconds: dict[str, float]
    """Whole iterations, by way of collecting."""
    overheads: list[float]
    """Of each round, how much longer an iteration takes with one worker that waits."""
    cpu_overhead: float
    """How much more CPU time it takes, Ray's own processes included; median over rounds."""
    others: float
    """Cores that other programs used meanwhile."""

    @property
    def collecting(self) -> float:
        """Collecting alone, in one process."""
        return self.seconds["0 workers"] - self.learning

    @property
    def overhead(self) -> float:
        """Overhead of Ray at equal cores."""
        return float(np.median(self.overheads))


def make(words: str, **collection: Any) -> OffPolicyTrainer:
    """A trainer with one thread in every process; the first iteration has random actions."""
    fixed = ["--threads", "1", "--random-episodes", "1", "--no-curriculum"]
    experiment = parse_words([*words.split(), *fixed]).experiment
    experiment = replace(experiment, collection=CollectionConfig(**collection))
    encoder = None
    if experiment.encoder:
        encoder = agent_encoder(load_encoder(experiment.encoder), experiment)
    run = RunDir(Path("benchmark-cluster"))
    trainer = make_trainer(experiment, run, lambda row: None, encoder, load_teacher)
    assert isinstance(trainer, OffPolicyTrainer)
    return trainer


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall seconds, and CPU seconds of this process and all that it has started."""
    cpu, start = own_seconds(), time.perf_counter()
    work()
    return time.perf_counter() - start, own_seconds() - cpu


def measure(words: str, seconds: float) -> Measured:
    """Time iterations without workers, with one that waits, and with one and two that do not.

    All take turns in every round, the first two in alternating order; workers that do not wait
    have come to rest before others are timed.
    """
    plain, sync = make(words), make(words, workers=1, sync=True)
    free = {f"{count} worker{'s' * (count > 1)}": make(words, workers=count) for count in (1, 2)}
    for trainer in (plain, sync, *free.values()):
        trainer.iterate()
    times: dict[str, list[tuple[float, float]]] = {"0 workers": [], "1 worker, --sync": []}
    times |= {way: [] for way in free}
    learning: list[float] = []

    def without_ray() -> None:
        plain.store(plain._source.collect(99)[0])
        learning.append(timed(lambda: plain.learn(plain.num_updates()))[0])

    others, end = Others(), time.monotonic() + seconds
    while len(learning) < ROUNDS or time.monotonic() < end:
        # Without Ray and with it, doing the same in turns
        settle()
        pair = [("0 workers", without_ray), ("1 worker, --sync", sync.iterate)]
        for way, work in pair if len(learning) % 2 else reversed(pair):
            times[way].append(timed(work))

        # Workers that collect while the learner learns
        for way, trainer in free.items():
            settle()
            trainer.iterate()  # of episodes that were waiting
            block = timed(lambda own=trainer: [own.iterate() for _ in range(BLOCK)])
            times[way].append((block[0] / BLOCK, block[1] / BLOCK))

    used = others.cores()
    for trainer in (sync, *free.values()):
        trainer.close()
    wall, cpu = (
        np.array([times["0 workers"], times["1 worker, --sync"]])[:, :, column] for column in (0, 1)
    )  # (2, rounds)
    return Measured(
        plain.experiment.training.num_envs * plain.components.collector.steps,
        plain.num_updates(),
        float(np.median(learning)),
        {way: float(np.median([wall for wall, _ in rounds])) for way, rounds in times.items()},
        [float(x) for x in wall[1] / wall[0] - 1],
        float(np.median(cpu[1] / cpu[0]) - 1),
        used,
    )


def predicted(collecting: float, learning: float, workers: int) -> float:
    """The model: seconds of an iteration, with the slower of the two sides."""
    return max(collecting / workers, learning) if workers else collecting + learning


class SleepingWorker:
    """Stands in for a worker: it sleeps instead of simulating. Also acts as the learner's agent."""

    def __init__(self, *args: Any) -> None:
        if len(args) == 5:
            (self._seconds, self._versions), index = args[2], args[3]
            self._rng = np.random.default_rng([index, args[4]])

    def versions(self) -> dict[str, str]:
        """Those of the learner."""
        return self._versions

    def acting_tensors(self) -> dict[str, Any]:
        """No weights."""
        return {}

    def collect(self, weights: Any, episodes: int) -> tuple[dict[str, Any], dict[str, float]]:
        """Sleep, and return an episode of one step."""
        time.sleep(self._seconds * self._rng.uniform(0.8, 1.2))
        entities = {"values": np.zeros((1, 2, 1, 1, 1)), "visible": np.ones((1, 2, 1, 1), bool)}
        goal = {name: array[:, 0] for name, array in entities.items()}
        arrays = {f"actor.states.{name}": array for name, array in entities.items()}
        arrays |= {f"actor.goal.{name}": array for name, array in goal.items()}
        arrays |= {"achieved": np.zeros(1), "desired": np.zeros(1), "actions": np.zeros((1, 1))}
        return arrays, {}


def simulate(collecting: float, learning: float, workers: int, iterations: int) -> float:
    """Seconds of an iteration of real workers that sleep, beside a learner that sleeps."""
    words = f"one-cube --num-envs {workers} --no-curriculum"
    experiment = parse_words(words.split()).experiment
    experiment = replace(experiment, collection=CollectionConfig(workers=workers))
    delays: Any = (collecting / workers, versions())
    source = RayWorkers(experiment, None, SleepingWorker(), delays, SleepingWorker)  # type: ignore[arg-type]
    for _ in range(2):
        source.collect(0)
    start = time.perf_counter()
    for _ in range(iterations):
        source.collect(0)
        time.sleep(learning)
    spent = (time.perf_counter() - start) / iterations
    source.close()
    return spent


def page(results: dict[str, Measured], simulated: list[dict[str, float]], command: str) -> str:
    """The results as Markdown."""
    speed, model = [], []
    for obs, measured in results.items():
        base = measured.seconds["0 workers"]
        for way, seconds in measured.seconds.items():
            steps, updates = measured.env_steps / seconds, measured.updates / seconds
            speed.append((obs, way, f"{steps:.0f}", f"{updates:.1f}", f"{base / seconds:.2f}"))
        c, learning = measured.collecting, measured.learning
        for gpu in GPU_SPEEDUPS:
            seconds = predicted(c, learning / gpu, CORES - 1)
            side = "learner" if learning / gpu > c / (CORES - 1) else "workers"
            enough = max(1, round(c / (learning / gpu)))
            model.append((obs, gpu, f"{measured.env_steps / seconds:.0f}",
                          f"{base / seconds:.1f}", side, enough))  # fmt: skip
    overheads = [
        (obs, f"{100 * m.overhead:+.0f} %",
         f"{100 * min(m.overheads):+.0f} % to {100 * max(m.overheads):+.0f} %",
         len(m.overheads), f"{100 * m.cpu_overhead:+.0f} %", f"{m.others:.2f}")
        for obs, m in results.items()
    ]  # fmt: skip
    checks = [
        (int(row["workers"]), row["collecting"], row["learning"], f"{row['model']:.2f}",
         f"{row['measured']:.2f}", f"{100 * (row['measured'] / row['model'] - 1):+.0f} %")
        for row in simulated
    ]  # fmt: skip
    return "\n".join((
        "# Workers\n", f"Made by `{command}`, {os.cpu_count()} cores.\n",
        "## Measured\n",
        "Medians over rounds in which all ways take turns.\n",
        markdown_table(("observes", "collects", "env-steps/s", "updates/s", "speed-up"), speed),
        "Overhead of Ray at equal cores: one worker with `--sync` does the same work as no worker, "
        "in turns with the learner. CPU time counts all processes, Ray's own too, and is hardly "
        "changed by other programs. Cores of others: what else ran meanwhile; well above 0, times "
        "are rough.\n",
        markdown_table(("observes", "overhead, median", "of single rounds", "rounds",
                        "overhead in CPU time", "cores of others"), overheads),
        f"## Model: {CORES} cores and one GPU\n",
        "An iteration takes the longer of collecting, divided by the workers, and learning, "
        "divided by the speed-up of the GPU, which is a guess.\n",
        markdown_table(("observes", "GPU speed-up", "env-steps/s", "speed-up",
                        "bottleneck", "workers that keep up"), model),
        "## The model against workers that sleep\n",
        "Real processes and scheduling; simulation and updates are replaced by sleeping for the "
        "given seconds, collecting varies by 20 %.\n",
        markdown_table(("workers", "collecting (s, in total)", "learning (s)", "model (s)",
                        "measured (s)", "difference"), checks),
    ))  # fmt: skip


def main(options: Options) -> None:
    with ray_session("", 4, "This benchmark"):
        results = {}
        for obs, words in TRAININGS.items():
            results[obs] = measure(words, options.seconds)
            print(obs, results[obs], flush=True)
        simulated = []
        for workers, collecting, learning in (
            (1, 1.0, 1.0), (2, 2.0, 0.5), (4, 2.0, 0.5), (4, 4.0, 0.5),
        ):  # fmt: skip
            seconds = simulate(collecting, learning, workers, 5)
            row = {"workers": workers, "collecting": collecting, "learning": learning}
            model = predicted(collecting, learning, workers)
            simulated.append({**row, "model": model, "measured": seconds})
            print(simulated[-1], flush=True)
    command = "python benchmarks/cluster.py"
    if options.seconds != Options().seconds:
        command += f" --seconds {options.seconds:g}"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "cluster.md").write_text(page(results, simulated, command))
    content = {
        "measured": {
            obs: {**vars(m), "collecting": m.collecting, "overhead": m.overhead}
            for obs, m in results.items()
        },
        "simulated": simulated,
    }
    (options.out / "cluster.json").write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Options))
