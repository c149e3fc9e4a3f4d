"""Where the time goes when an agent learns from pixels, and what token packing is worth.

`make bench-pixels` writes docs/results/pixel-speed.md.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import tables
import torch
import tyro
from environments import take_turns
from torch import Tensor

from jostle.agents.td3 import TD3Agent
from jostle.core.entities import Entities
from jostle.core.profiler import TIME_PREFIX, time_shares
from jostle.nets.eit import EITActor
from jostle.nets.token_set import TokenSet
from jostle.presets.words import parse_words
from jostle.replay.batch import Batch
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.dagger import imitation_errors
from jostle.training.start import start_run
from jostle.zoo.agents import load_teacher
from jostle.zoo.encoders import load_encoder


@dataclass(frozen=True)
class Options:
    """Measure collecting and updating from pixels, and write pixel-speed.json and .md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    train: str = "three-cubes --obs pixels --method dagger"
    """Words of 'jostle train'."""
    num_envs: int = 32
    """Environments at once."""
    steps: int = 20
    """Steps of the episodes that are timed."""
    rounds: int = 5
    """How often the two updates take turns."""
    threads: int = 2
    """Threads of physics, rendering and networks."""


def run_training(options: Options, folder: Path) -> AgentTrainer:
    """Two iterations as `jostle train` runs them; the first warms everything up."""
    experiment = parse_words(options.train.split()).experiment
    training = replace(
        experiment.training, num_envs=options.num_envs, threads=options.threads,
        horizon=options.steps, env_steps=2 * options.num_envs * options.steps, eval_episodes=1,
    )  # fmt: skip
    experiment = replace(experiment, training=training)
    trainer = start_run(
        experiment, folder, lambda row: None, None, "actor", load_teacher, load_encoder
    )
    trainer.run()
    return trainer


def collection_speed(row: dict[str, Any], options: Options) -> float:
    """Environment steps per second of an iteration without its teacher, sampling and updates."""
    times = {name: value for name, value in row.items() if name.startswith(TIME_PREFIX)}
    learning = ("sampling", "updating", "teacher")
    rest = sum(times.values()) - sum(times.get(f"{TIME_PREFIX}{part}", 0.0) for part in learning)
    return options.num_envs * options.steps / rest


def time_updates(agent: TD3Agent, batch: Batch, rounds: int) -> dict[str, list[float]]:
    """Seconds of one imitation update: all particles with a mask, or visible ones only."""
    actor, normalize = agent.actor, agent.normalizer
    assert isinstance(actor, EITActor)

    def masked(state: Entities, goal: Entities) -> Tensor:
        pooled, _ = actor.trunk.pooled(TokenSet.of(state), TokenSet.of(goal))
        return torch.tanh(actor.head(pooled))[0]

    def timed(act: Callable[[Entities, Entities], Tensor]) -> Callable[[], float]:
        def update() -> float:
            start = time.perf_counter()
            state, goal = normalize(batch.actor.state), normalize(batch.actor.goal)
            loss = imitation_errors(act(state, goal), batch.action).mean()
            agent.actor_optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            return time.perf_counter() - start

        update()
        return update

    return take_turns({"masked": timed(masked), "packed": timed(actor)}, rounds)


def main() -> None:
    """Measure and write."""
    options = tyro.cli(Options)
    torch.set_num_threads(options.threads)

    # Measure
    with TemporaryDirectory() as folder:
        trainer = run_training(options, Path(folder))
        last = trainer.run_dir.rows()[-1]
    shares, speed = time_shares([last]), collection_speed(last, options)
    components, experiment = trainer.components, trainer.experiment
    batch = components.sampler.sample(experiment.td3.batch_size)
    seconds = time_updates(components.agent, batch, options.rounds)
    ratio = median(a / b for a, b in zip(seconds["masked"], seconds["packed"], strict=True))
    state = batch.actor.state
    visible = state.visible.sum((1, 2)).float().mean().item()

    # Lay out
    rows = [
        ("Collecting, two views: environment steps per second", f"{speed:.0f}", "≥ 75",
         f"{options.num_envs} environments, rendered and encoded, no teacher"),
        ("Update: masked / packed", f"{ratio:.2f}", "≥ 1.5",
         f"{1e3 * min(seconds['masked']):.0f} ms / {1e3 * min(seconds['packed']):.0f} ms, "
         f"batch {experiment.td3.batch_size}"),
        ("Visible particles of a state, both views", f"{visible:.1f}", "",
         f"of {2 * state.shape[1]}"),
        ("Replay: bytes per transition", f"{components.buffer.bytes_per_transition:.0f}",
         "≤ 2,500", "0.5 GB for 200,000"),
    ]  # fmt: skip
    parts = [(name, f"{100 * share:.0f} %") for name, share in shares.items()]
    machine = ", ".join(f"{k} {v}" for k, v in tables.machine("none").items() if k != "renderer")
    command = f"python benchmarks/pixels.py {' '.join(sys.argv[1:])}".strip()
    lines = ["# Speed of learning from pixels", "", f"Made by `{command}` on: {machine}.", "",
             f"`jostle train {options.train}`, {options.threads} threads.", ""]  # fmt: skip
    lines += ["| " + " | ".join(row) + " |" for row in (tables.HEADER, ("---",) * 4, *rows)]
    lines += ["", f"Time of an iteration, at {experiment.training.utd_ratio} updates per step, as "
              "in every `metrics.jsonl`:", ""]  # fmt: skip
    lines += ["| " + " | ".join(r) + " |" for r in (("Part", "Share"), ("---",) * 2, *parts)]
    text = "\n".join([*lines, ""])
    print(text)

    # Write
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "pixel-speed.md").write_text(text)
    figures = {"shares": shares, "update_seconds": seconds, "steps_per_second": speed}
    (options.out / "pixel-speed.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
