"""How workers speed up a training: measured here, and a model of larger machines.

python benchmarks/cluster.py --out docs/results

Needs the extra `cluster`. Writes cluster.md and cluster.json. The model is compared with the real
scheduling of workers that sleep instead of simulating.
"""

import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tyro

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


@dataclass(frozen=True)
class Options:
    """Measure and write."""

    out: Path = Path("docs/results")
    """Folder for cluster.md and cluster.json."""
    iterations: int = 4
    """Iterations that are measured in each way."""


@dataclass(frozen=True)
class Measured:
    """Seconds of an iteration."""

    env_steps: int
    updates: int
    learning: float
    """Updates alone, in one process."""
    seconds: dict[str, float]
    """Whole iterations, by way of collecting."""

    @property
    def collecting(self) -> float:
        """Collecting alone, in one process."""
        return self.seconds["0 workers"] - self.learning


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


def timed(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(words: str, iterations: int) -> Measured:
    """Time iterations without workers, with one that waits, and with one and two that do not.

    Of each, the fastest counts: the one that other processes disturbed least.
    """
    # Without Ray and with it, doing the same in turns
    plain, sync = make(words), make(words, workers=1, sync=True)
    plain.iterate(), sync.iterate()
    times: dict[str, list[float]] = {"collect": [], "learn": [], "sync": []}
    for _ in range(iterations):
        times["sync"].append(timed(sync.iterate))
        times["collect"].append(timed(lambda: plain.store(plain._source.collect(99)[0])))
        times["learn"].append(timed(lambda: plain.learn(plain.num_updates())))
    sync.close()
    learning = min(times["learn"])
    seconds = {
        "0 workers": min(times["collect"]) + learning,
        "1 worker, --sync": min(times["sync"]),
    }

    # Workers that collect while the learner learns
    for workers in (1, 2):
        trainer = make(words, workers=workers)
        for _ in range(2):
            trainer.iterate()
        seconds[f"{workers} worker{'s' * (workers > 1)}"] = min(
            timed(trainer.iterate) for _ in range(iterations)
        )
        trainer.close()
    env_steps = plain.experiment.training.num_envs * plain.components.collector.steps
    return Measured(env_steps, plain.num_updates(), learning, seconds)


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
    overheads = ", ".join(
        f"{obs} {100 * (m.seconds['1 worker, --sync'] / m.seconds['0 workers'] - 1):+.0f} %"
        for obs, m in results.items()
    )
    checks = [
        (int(row["workers"]), row["collecting"], row["learning"], f"{row['model']:.2f}",
         f"{row['measured']:.2f}", f"{100 * (row['measured'] / row['model'] - 1):+.0f} %")
        for row in simulated
    ]  # fmt: skip
    return "\n".join((
        "# Workers\n", f"Made by `{command}`. {os.cpu_count()} cores, load average "
        f"{os.getloadavg()[0]:.1f}: if it is above the cores, others were running, and even ratios "
        "are rough.\n",
        "## Measured\n",
        markdown_table(("observes", "collects", "env-steps/s", "updates/s", "speed-up"), speed),
        f"Overhead of Ray at equal cores (one worker with `--sync` does the same work in turns "
        f"with the learner): {overheads}.\n",
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
            results[obs] = measure(words, options.iterations)
            print(obs, results[obs], flush=True)
        simulated = []
        for workers, collecting, learning in (
            (1, 2.0, 2.0), (2, 4.0, 1.0), (4, 4.0, 1.0), (4, 8.0, 1.0),
        ):  # fmt: skip
            seconds = simulate(collecting, learning, workers, 6)
            row = {"workers": workers, "collecting": collecting, "learning": learning}
            model = predicted(collecting, learning, workers)
            simulated.append({**row, "model": model, "measured": seconds})
            print(simulated[-1], flush=True)
    command = f"python benchmarks/cluster.py --iterations {options.iterations}"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "cluster.md").write_text(page(results, simulated, command))
    content = {
        "measured": {obs: {**vars(m), "collecting": m.collecting} for obs, m in results.items()},
        "simulated": simulated,
    }
    (options.out / "cluster.json").write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Options))
