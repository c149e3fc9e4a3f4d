"""Where the time goes when an agent learns from pixels, and what packing its sets is worth.

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
from environments import race
from torch import Tensor

from jostle.agents.td3 import TD3Agent
from jostle.core.clock import SPENT, shares
from jostle.core.entities import Entities
from jostle.nets.crowd import Crowd
from jostle.nets.eit import EITActor
from jostle.presets.catalog import PRESETS
from jostle.replay.sampler import Batch
from jostle.training.distill import imitation_errors
from jostle.training.rounds import Rounds
from jostle.training.start import begin
from jostle.zoo.agents import agent_for
from jostle.zoo.encoders import look


@dataclass(frozen=True)
class Options:
    """Measure collecting and updating from pixels, and write pixel-speed.json and .md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    preset: str = "three-cubes-pixels-distill"
    """Whose loop."""
    encoder: str = "dlp-6cubes"
    """What it sees with."""
    copies: int = 32
    """Environments at once."""
    steps: int = 20
    """Steps of the episodes that are timed."""
    rounds: int = 5
    """How often contestants take turns."""
    threads: int = 2
    """Threads of physics, drawing and networks."""


def training(options: Options, folder: Path) -> Rounds:
    """Two rounds of the preset as `jostle train` runs them; the first warms everything up."""
    preset = PRESETS[options.preset]
    loop = replace(
        preset.training, copies=options.copies, threads=options.threads, horizon=options.steps,
        env_steps=2 * options.copies * options.steps, examine_episodes=1,
    )  # fmt: skip
    asked = replace(preset, encoder=options.encoder, training=loop)
    rounds = begin(asked, folder, lambda row: None, find=agent_for, look=look)
    rounds.run()
    return rounds


def collecting(row: dict[str, Any], options: Options) -> float:
    """Environment steps per second of a round without its teacher, sampling and updating."""
    spent = {name: value for name, value in row.items() if name.startswith(SPENT)}
    learning = ("sampling", "updating", "teacher")  # who teaches is asked in updates above all
    rest = sum(spent.values()) - sum(spent.get(f"{SPENT}{part}", 0.0) for part in learning)
    return options.copies * options.steps / rest


def updating(agent: TD3Agent, batch: Batch, rounds: int) -> dict[str, list[float]]:
    """Seconds of one imitation update: all particles and a mask, or visible ones only."""
    actor, see = agent.actor, agent.normalizer
    assert isinstance(actor, EITActor)

    def masked(state: Entities, goal: Entities) -> Tensor:
        pooled, _ = actor.trunk.pooled(Crowd.of(state), Crowd.of(goal))
        return torch.tanh(actor.head(pooled))[0]

    def turn(act: Callable[[Entities, Entities], Tensor]) -> Callable[[], float]:
        def go() -> float:
            start = time.perf_counter()
            loss = imitation_errors(act(see(batch.state), see(batch.goal)), batch.action).mean()
            agent.actor_optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            return time.perf_counter() - start

        go()
        return go

    return race({"masked": turn(masked), "packed": turn(actor)}, rounds)


def main() -> None:
    """Measure and write."""
    options = tyro.cli(Options)
    torch.set_num_threads(options.threads)
    with TemporaryDirectory() as folder:
        rounds = training(options, Path(folder))
        last = rounds.rows()[-1]
    parts = shares([last])
    speed = collecting(last, options)
    shop, preset = rounds.shop, rounds.experiment
    batch = shop.sampler.sample(preset.td3.batch)
    step = updating(shop.agent, batch, options.rounds)
    ratio = median(a / b for a, b in zip(step["masked"], step["packed"], strict=True))
    tokens = batch.state.visible.sum((1, 2)).float().mean().item()
    rows = [
        ("Collecting, two views: environment steps per second", f"{speed:.0f}", "≥ 75",
         f"{options.copies} copies, drawn and encoded, no teacher"),
        ("Update: masked / packed", f"{ratio:.2f}", "≥ 1.5",
         f"{1e3 * min(step['masked']):.0f} ms / {1e3 * min(step['packed']):.0f} ms, "
         f"batch {preset.td3.batch}"),
        ("Visible particles of a state, both views", f"{tokens:.1f}", "",
         f"of {2 * batch.state.shape[1]}"),
        ("Replay: bytes per transition", f"{shop.ring.bytes_per_transition:.0f}", "≤ 2,500",
         "0.5 GB for 200,000"),
    ]  # fmt: skip
    divided = [(name, f"{100 * share:.0f} %") for name, share in parts.items()]
    told = ", ".join(f"{k} {v}" for k, v in tables.machine("none").items() if k != "renderer")
    command = f"python benchmarks/pixels.py {' '.join(sys.argv[1:])}".strip()
    lines = ["# How fast learning from pixels is", "", f"Made by `{command}` on: {told}.", "",
             f"Preset `{options.preset}`, {options.threads} threads.", ""]  # fmt: skip
    lines += ["| " + " | ".join(row) + " |" for row in (tables.HEADER, ("---",) * 4, *rows)]
    per_step = preset.training.updates_per_step
    lines += ["", f"Where the time of a round went, at {per_step} updates per step, counted by the "
              "run itself as in every `metrics.jsonl`:", ""]  # fmt: skip
    lines += ["| " + " | ".join(r) + " |" for r in (("Part", "Share"), ("---",) * 2, *divided)]
    text = "\n".join([*lines, ""])
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "pixel-speed.md").write_text(text)
    figures = {"shares": parts, "update_seconds": step, "steps_per_second": speed}
    (options.out / "pixel-speed.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
